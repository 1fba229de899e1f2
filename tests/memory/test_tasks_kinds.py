"""Which type of work a request is, in English and Chinese."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.memory.tasks import TYPES, infer_type
from holdfast.memory.tasks.kinds import type_name

REQUESTS = {
    "bug_fix": [
        "Fix the crash of the login page on Safari.",
        "The export does not work any more, there is a TypeError in the log.",
        "Can you debug why the scheduler stops at night?",
        "修复登录页面的报错",
        "首页打不开了，帮我排查一下",
    ],
    "code_review": [
        "Please review my pull request #42.",
        "Could you do a code review of the diff below?",
        "帮我审查一下这段代码",
        "看一下这个 PR 有没有问题",
    ],
    "feature": [
        "Add a dark mode button to the settings page.",
        "Implement pagination for the users endpoint",
        "Build a small website for my bakery",
        "给用户列表新增导出功能",
        "写一个批量重命名的脚本",
    ],
    "refactor": [
        "Refactor the billing module into smaller classes",
        "Rename the variable and extract the helper function into its own module",
        "重构一下订单模块",
        "整理一下这几个类的代码",
        "把这个大函数拆分成几个小函数，抽取公共代码",
    ],
    "research": [
        "Research the state of the art in vector search.",
        "Compare three electric cars with good winter range for me",
        "帮我调研一下国内的向量数据库",
        "查一下杭州有哪些露营地",
    ],
    "booking": [
        "Book me a flight to Lisbon on 3 May",
        "I need a hotel reservation for two nights",
        "帮我订一张去成都的机票",
        "预约周五下午的牙医",
    ],
    "writing": [
        "Write an email to my landlord about the heating.",
        "Translate this paragraph into French.",
        "帮我写一封辞职信",
        "把这段话翻译成英文并润色",
    ],
    "analysis": [
        "Analyse the sales figures in this CSV and plot the trend.",
        "分析一下上个月的用户数据",
        "统计每个部门的报销金额",
    ],
    "ops": [
        "Deploy the new version to staging and restart nginx",
        "Set up a backup of the database server every night",
        "把服务部署到生产环境",
        "重启一下网关服务器",
    ],
    "question": [
        "What is the capital of Portugal?",
        "Why is the sky blue?",
        "什么是向量数据库？",
        "为什么天空是蓝色的",
    ],
    "other": [
        *("hm", "", "continue", "嗯嗯", "好的"),
        *("整理照片", "帮我整理一下各类照片文件", "清理房间", "Tidy my desk", "重命名这些照片"),
    ],
}


@pytest.mark.parametrize(
    ("text", "expected"), [(text, name) for name, texts in REQUESTS.items() for text in texts]
)
def test_the_type_of_a_request(text: str, expected: str) -> None:
    assert infer_type(text) == expected


@given(st.text())
def test_every_text_has_a_type(text: str) -> None:
    assert infer_type(text) in TYPES


def test_a_megabyte_is_read_as_far_as_its_beginning() -> None:
    assert infer_type("please " * 150_000 + "fix the bug") == "other"


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Bug fix", "bug_fix"),
        ("修复", "bug_fix"),
        ("Code-Review!", "code_review"),
        ("My own", "my_own"),
    ],
)
def test_a_type_has_one_spelling(written: str, name: str) -> None:
    assert type_name(written) == name
    assert type_name(name) == name


def test_a_credential_is_no_type() -> None:
    assert type_name("ghp_" + "a1B2" * 9) == ""
    assert type_name("my ghp_" + "a1B2" * 9) == ""


def test_a_type_is_short() -> None:
    assert len(type_name("a very long type " * 9)) <= 40
