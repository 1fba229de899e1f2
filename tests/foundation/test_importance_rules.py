"""Rules and corrections: what users say when they mean it, and what only looks like it."""

from __future__ import annotations

import pytest

from holdfast.importance import is_constraint, is_correction

RULES = """
Never push to main
Please never push directly to main.
Don't use tabs
Do not touch the production database.
Always run the linter before committing.
You must not delete files without asking.
You should never log passwords.
Fix the parser and do not touch the tests.
Refactor it, but never change the public API.
From now on, answer in French.
Answer in Spanish from now on.
Going forward, use British spelling.
Only edit files under src/.
Make sure all tests pass before you commit.
Under no circumstances may you email the customer.
The staging server is off-limits.
All dates must be in ISO 8601.
Every commit must reference a ticket.
Stop adding comments to my code.
Keep your answers under 100 words.
No emojis, please.
I want you to always ask before running migrations.
I don't want you to rename anything.
Avoid using global variables.
Could you please always reply in German?
Whatever you do, don't restart the server.
Secrets must never be written to the log.
- do not add new dependencies
You may only use the standard library.
The response must not contain HTML.
Don't ever commit the .env file.
Also, never suggest peanuts: my son is allergic.
以后都用中文回复
不要动生产库
千万不要删除用户数据。
请不要使用表情符号。
所有提交必须通过测试。
别改公共接口。
从现在开始，每次都先问我。
严禁把密码写进日志。
务必先备份再迁移。
只能用标准库。
绝对不能直接推到主分支。
修一下这个 bug，但不要改测试。
以后请叫我老王。
日期一律写成 ISO 格式。
永远不要自动发邮件。
我不希望你改我的文件名。
回复必须是 JSON。
今后不要再用缩写。
""".strip().splitlines()

NO_RULES = """
I never saw that movie
Never mind, I found it.
I have never been to Spain.
Never seen anything like it!
She always sings in the shower.
It's always sunny here.
Always a pleasure to talk to you.
Don't worry about it.
Don't know yet.
I don't use tabs myself, but my colleague does.
You must be tired after that trip.
That must be nice.
There must be a bug somewhere.
I must go now.
We must have missed the bus.
It must not have been easy.
From now on I'll go running every morning.
From now on, things get easier.
My boss always says "never give up".
The README says "do not push to main".
Should I never restart it?
Why do we always get this error?
Only two people came.
I only use it on weekends.
We stopped by the lake.
I can't stop laughing.
Keep me posted!
Keep up the good work.
No thanks.
I work late and don't sleep much.
I go there often and never regret it.
He told me he'd never come back.
Have you ever tried sushi?
What is the maximum size?
Please send me the report.
I always wanted a dog.
It never works on the first try.
Don't forget how far you have come.
Make sure to have fun!
> never push to main
He is not allowed in the kitchen today.
You should try the new restaurant.
我从来没去过西班牙
不要紧，慢慢来。
别担心，会好的。
我必须走了。
他总是迟到。
要不要一起吃饭？
别人都说这家店不错。
以后再说吧。
毕业以后都去了北京。
不要客气。
我一定要学会游泳。
我不要香菜。
我们不得不改签。
他说他绝不会回来。
今天只有两个人来。
天气真不错，一起去散步吧。
我只能说谢谢。
以后会更好的。
""".strip().splitlines()

CORRECTIONS = """
No, that's wrong: the port is 5433.
That's not right, the meeting is on Friday.
That is incorrect.
No, I meant the staging server.
I meant to say Tuesday.
You misunderstood me.
You got the date wrong.
Actually, it's 5433.
Sorry, it's Tuesday, not Monday.
It's Tuesday, not Monday.
The port is 8081, not 8080.
Correction: the budget is 4,000.
Scratch that, use Postgres.
That's not what I asked for.
I didn't ask you to rename the file.
I said blue, not green.
No, not that file.
Wait, use pnpm instead.
It should be `config.toml`.
You're wrong, it was released in 2019.
I mistyped: the id is 7731.
My mistake, the deadline is in May.
This is wrong. Please look again.
Oops, I meant Anna.
Your answer is wrong: there are three cases.
You mixed up the two accounts.
No, use the second one instead.
That should be 12, by the way.
Hmm, that's not correct.
Use main.py, not app.py.
不是周一，是周二。
不是张伟，而是张玮。
不对，会议在周五。
你搞错了，端口是 5433。
更正：预算是四千。
我说错了，是下个月。
我的意思是测试环境。
我是说小李，不是小王。
你理解错了。
这里写的不对。
我没让你改文件名。
应该是八点，不是九点。
错了，是蓝色。
不，应该用 Postgres。
我记错了，生日是九月。
""".strip().splitlines()

NO_CORRECTIONS = """
There is nothing wrong with it.
Something is wrong with my car.
Is that wrong?
What went wrong?
I was wrong to trust him.
That's not bad at all!
It's fun, not scary.
I meant to call you yesterday.
I meant every word.
It means a lot to me.
I know what I meant.
No, thanks.
No problem.
No, I have never been there.
Actually, I love it here.
Actually it was really nice.
That should be fine.
It should be fun.
I didn't say anything.
I didn't mean to hurt you.
I'm not sure.
Not yet.
She got it wrong and laughed.
He misunderstood the question.
It's not too late.
Wait for me!
Sorry to hear that.
We should meet instead of writing.
The wrong trousers is a great movie.
You are not alone.
That's not a problem.
How do I correct a typo?
I confused the two streets and got lost.
No way, that's great news.
Sorry I'm late.
没错，就是这样。
这个错误怎么修？
我错过了末班车。
你说得对。
是不是周二？
不知道。
这不是很好吗？
我没说话。
天气不错。
不错，继续。
有什么意思？
我没什么意见。
这道题错了吗？
这没意思。
他搞错了地址，所以迟到了。
""".strip().splitlines()


@pytest.mark.parametrize("text", RULES)
def test_a_rule_is_recognised(text: str) -> None:
    assert is_constraint(text)


@pytest.mark.parametrize("text", NO_RULES)
def test_a_story_a_question_or_a_kind_word_is_no_rule(text: str) -> None:
    assert not is_constraint(text)


@pytest.mark.parametrize("text", CORRECTIONS)
def test_a_correction_is_recognised(text: str) -> None:
    assert is_correction(text)


@pytest.mark.parametrize("text", NO_CORRECTIONS)
def test_regret_comparison_and_doubt_are_no_corrections(text: str) -> None:
    assert not is_correction(text)


def test_the_tables_are_large_enough_to_mean_something() -> None:
    assert all(len(table) >= 40 for table in (RULES, NO_RULES, CORRECTIONS, NO_CORRECTIONS))


def test_a_rule_is_found_among_other_sentences() -> None:
    assert is_constraint("Hi! I looked at the parser.\nIt is slow. Don't rewrite it though. Thanks")
    assert is_constraint("你好。我看了解析器，有点慢。但是不要重写它。谢谢")


def test_rules_in_code_and_logs_are_not_the_users() -> None:
    assert not is_constraint("Why does this say so?\n```\nNever push to main\n```")
    assert not is_constraint("I get this:\nERROR do not call twice")


def test_curly_apostrophes_count_like_straight_ones() -> None:
    assert is_constraint("Don’t use tabs")
    assert is_correction("No, that’s wrong: it was May.")
