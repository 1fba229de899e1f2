"""Chinese speech: of whom something is said, what, and what is the same again."""

from __future__ import annotations

import pytest

from holdfast.context.extract import extract
from holdfast.retain import RetainLine
from holdfast.types import Message
from tests.context.heard import call, heard, result, talk


def lines(*said: str, share: float = 1.0) -> dict[str, RetainLine]:
    found = extract(talk(*(("user", text) for text in said)), share=share).lines
    return {line.entity or "": line for line in found}


def test_values_of_one_subject_share_a_line() -> None:
    found = lines("我叔叔今年61岁了。", "我叔叔的生日是9月13号。", "我叔叔的老家在山西太原。")
    assert found["叔叔"].text == "61岁；生日9月13号；老家在山西太原"
    assert found["叔叔"].sources == ("e0", "e1", "e2")


def test_a_person_is_called_by_relation_and_name_once_the_name_is_known() -> None:
    found = lines("我叔叔叫刘宇轩。", "我叔叔的身高是175厘米。", "刘宇轩的电话是13812345678。")
    assert list(found) == ["叔叔刘宇轩"]
    assert "13812345678" in found["叔叔刘宇轩"].text


def test_two_people_of_one_relation_are_kept_apart() -> None:
    found = lines("刘宇轩是我的叔叔，其年龄是61岁。", "王志强是我的叔叔，其年龄是52岁。")
    assert found["叔叔刘宇轩"].text == "61岁"
    assert found["叔叔王志强"].text == "52岁"


def test_a_thing_is_the_subject_of_its_attributes() -> None:
    found = lines(
        "我将要参加金融科技论坛。", "金融科技论坛的规模是三千人。", "金融科技论坛的地点是北京。"
    )
    assert found["金融科技论坛"].text == "将参加；三千人；地点北京"


def test_the_same_again_adds_a_source_not_a_value() -> None:
    found = lines("我妈妈的身高是157厘米。", "我妈妈的身高是157厘米呢。")
    assert found["妈妈"].text.count("157") == 1
    assert found["妈妈"].sources == ("e0", "e1")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("我妈妈的身高是157厘米。", "我妈妈的身高是158厘米。"),
        ("我妈妈喜欢吃海鲜和牛肉。", "我妈妈不喜欢吃海鲜和牛肉。"),
    ],
)
def test_another_figure_or_a_denial_is_another_value(one: str, other: str) -> None:
    found = extract(talk(("user", one), ("user", other)), share=1.0).lines
    assert len([value for line in found for value in line.text.split("；")]) == 2


def test_days_are_dated() -> None:
    assert "2025年5月15日" in lines("我打算明天搬到上海。")["用户"].text


def test_greetings_questions_and_drift_are_not_written() -> None:
    assert lines("你好！", "哈哈", "今天天气怎么样？", "谢谢", "你在做什么呢") == {}


def test_rules_and_requests_to_remember_are_written_as_said() -> None:
    said = ("以后都用中文回复。", "记住，我对花生过敏。", "不要动生产库。")
    found = extract(talk(*(("user", text) for text in said)), share=0.05).lines
    written = "；".join(line.text for line in found)
    assert "以后都用中文回复" in written
    assert "记住，我对花生过敏" in written
    assert "不要动生产库" in written


def test_of_a_long_telling_the_first_clause_and_the_turn_are_kept() -> None:
    long = (
        "绿洲家园真是个人见人爱的好地方，绿化面积大，环境也漂亮，每天工作回来在里面走走心情很好，"
        "就是买东西和吃饭的地方少了点，其他都不错。"
    )
    text = lines(long)["用户"].text
    assert "绿洲家园" in text
    assert "就是买东西和吃饭的地方少了点" in text
    assert "绿化面积大" not in text


def test_what_the_assistant_says_is_trusted_less() -> None:
    found = extract(
        talk(("user", "我打算下周搬到上海工作。"), ("assistant", "上海的地铁有二十条线路。")),
        share=1.0,
    )
    assert [line.trust for line in found.lines] == ["user", "agent"]
    assert found.lines[1].entity == "助手"


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("我们决定用PostgreSQL 16，不用MySQL。", "我们决定用PostgreSQL 16，不用MySQL"),
        ("我国有三十四个省级行政区。", "我国有三十四个省级行政区"),
        ("其他服务器在法兰克福机房，端口5433。", "其他服务器在法兰克福机房，端口5433"),
        ("它们的端口是5433和5434。", "它们的端口5433和5434"),
        ("还是用旧方案上线。", "还是用旧方案上线"),
        ("呢绒大衣放在3号柜子里了。", "呢绒大衣放在3号柜子里"),
        ("香港特别行政区的区号是852。", "区号852"),
    ],
)
def test_no_word_is_cut_in_two(said: str, written: str) -> None:
    (line,) = lines(said).values()
    assert line.text == written


def test_orders_to_go_on_are_no_facts() -> None:
    steps = [f"继续第{n}步。" for n in range(8)]
    assert lines(*steps, "好的，请继续第9步", "再试一次。") == {}
    assert "继续使用PostgreSQL" in lines("以后继续使用PostgreSQL，不要换成MySQL。")["用户"].text


def test_a_question_is_kept_only_while_nobody_has_answered() -> None:
    asked = ("user", "我2019年住在上海哪个区？")
    told = ("user", "我打算下周搬到上海工作。")
    answer = ("assistant", "好的。")
    written = [line.text for line in extract(talk(asked, answer, told, answer), share=1.0).lines]
    assert not any("哪个区" in text for text in written)
    still = [line.text for line in extract(talk(told, answer, asked), share=1.0).lines]
    assert any("哪个区" in text for text in still)


def test_unnamed_speakers_have_one_name_each_whatever_tools_return() -> None:
    english = "The nightly importer failed three times because the disk was full on Tuesday."
    found = extract(
        heard(
            Message.of("user", "我打算下周搬到上海工作。"),
            call(1, "read", {}),
            Message(role="user", parts=result(1, english * 20).parts),
            Message.of("assistant", english),
            Message.of("assistant", "上海的地铁有二十条线路。"),
            Message.of("user", "I adopted a dog named Rex in March."),
        ),
        share=1.0,
    )
    assert {line.entity for line in found.lines} == {"用户", "助手"}
    alone = extract(talk(("assistant", "上海的地铁有二十条线路。")), share=1.0)
    assert {line.entity for line in alone.lines} == {"助手"}


def test_what_a_user_tells_an_assistant_of_different_things_is_not_glued() -> None:
    said = [
        "我叫李雷，住在上海浦东。",
        "订单号是 SO-20251103-778。",
        "我2018年在上海浦东买了房子。",
    ]
    told = [turn for text in said for turn in (("user", text), ("assistant", "好的。"))]
    texts = [line.text for line in extract(talk(*told), share=1.0).lines]
    assert "订单号 SO-20251103-778" in texts
    assert any("李雷" in text and "2018年" in text for text in texts)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("我上司今年45岁。", "我上司今年42岁了。"),
        ("我上司的电话是13812345678。", "我上司的手机号是13987654321。"),
        ("我上司的生日是3月5号。", "我上司的生日是4月5号。"),
        ("我上司身高179厘米。", "我上司的身高是165cm。"),
        ("我上司是硕士。", "我上司只读到高中毕业。"),
        ("我上司的名字叫赵宇轩。", "我上司的名字叫李志伟。"),
    ],
)
def test_no_line_gives_one_person_two_ages_phones_or_names(one: str, other: str) -> None:
    found = extract(talk(("user", one), ("user", "我上司喜欢下棋。"), ("user", other)), share=1.0)
    assert len(found.lines) == 2
    assert {source for line in found.lines for source in line.sources} == {"e0", "e1", "e2"}


def test_the_second_of_a_relation_is_not_called_by_the_name_of_the_first() -> None:
    said = ("我表姐叫王丽娟。", "我表姐今年28岁。", "我表姐今年59岁。")
    found = extract(talk(*(("user", text) for text in said)), share=1.0).lines
    assert {(line.entity, line.text) for line in found} == {
        ("表姐王丽娟", "28岁"), ("表姐", "59岁")
    }  # fmt: skip


@pytest.mark.parametrize(
    ("one", "again"),
    [
        ("我妈妈的身高是157厘米。", "我妈妈身高有157cm。"),
        ("我妈妈的生日是04月05日。", "我妈妈生日在4月5号。"),
        ("我妈妈的电话号码是13812345678。", "我妈妈的联系电话是13812345678。"),
    ],
)
def test_one_value_in_two_spellings_is_one(one: str, again: str) -> None:
    (line,) = extract(talk(("user", one), ("user", again)), share=1.0).lines
    assert "；" not in line.text
    assert line.sources == ("e0", "e1")


def test_a_name_stands_in_the_entity_and_not_again_in_the_text() -> None:
    found = lines("我同事名字叫陈雪梅。", "我同事今年30岁。", "陈雪梅在江苏南京工作。")
    assert list(found) == ["同事陈雪梅"]
    assert found["同事陈雪梅"].text == "30岁；在江苏南京工作"
    assert set(found["同事陈雪梅"].sources) == {"e0", "e1", "e2"}


def test_weekdays_become_dates() -> None:
    # The conversation is of Wednesday, 14 May 2025.
    said = {
        "读书会的时间是下周三晚上七点。": "5月21日晚上七点",
        "读书会的时间是下下周一上午九点。": "5月26日上午九点",
        "读书会的时间是这周五下午。": "5月16日下午",
        "读书会的时间是上周日。": "5月11日",
    }
    for text, written in said.items():
        assert lines(text)["读书会"].text == written


def test_of_a_long_telling_no_empty_turn_is_kept() -> None:
    long = (
        "我住的那个金色家园真是不错，绿化很好，出门就是地铁，周围超市学校医院都有，住着很方便，"
        "就是有一点不太完美，晚上楼下跳舞的声音有点吵，其他都挺好的。"
    )
    (line,) = lines(long).values()
    assert "跳舞的声音有点吵" in line.text
    assert "不太完美" not in line.text
