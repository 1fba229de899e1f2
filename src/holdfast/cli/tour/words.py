"""What the tour and its offer say, in English and in Chinese.

``{n:line/lines}`` is a number with its noun; a number without one gets its thousands marked.

Promise: both languages say everything, with the same values (``tests/doors/test_demo.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from holdfast.cli.speech import Language
from holdfast.cli.tour.facts import Trouble

__all__ = ["CHINESE", "ENGLISH", "Words", "words_in"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Every sentence of the tour."""

    # the tour
    title: str
    about: str
    alone: str
    not_alone: str
    place: str
    stop: str
    talk: str
    marks: str
    pruned: str
    saved: str
    saved_nothing: str
    compacted: str
    unread: str
    closing: str
    closed: str
    pinned: str
    restoring: str
    restored: str
    cut: str
    asking: str
    no_model: str
    with_model: str
    no_answer: str
    nothing_found: str
    more: str
    writing: str
    next: str
    counted: str
    problems: str
    troubles: Mapping[Trouble, str]
    tried: Mapping[str, str]
    remove: str
    left: str
    # the tour in the console
    answerless: str
    finds: str
    finds_nothing: str
    # the offer
    chosen: str
    offer: str
    ways: tuple[str, str, str, str]
    choose: str
    not_a_way: str
    keys: str
    which_key: str
    paste_key: str
    key_kept: str
    no_key: str
    server: str
    look_again: str
    fetch: str
    sure: str
    still_none: str
    goodbye: str
    as_text: str
    # the console
    own_console: str
    tour_console: str
    no_console: str
    is_running: str


ENGLISH: Final = Words(
    title="Holdfast: a tour",
    about="{who} plans a family celebration with an agent that uses tools. They exchange "
    "{messages:message/messages}, and the model can read {window} tokens. What you see is done "
    "by the real engine",
    alone=": offline, without a key, without a model.",
    not_alone="; only the questions at the end are answered by a model.",
    place="Its files: {home}",
    stop="Ctrl-C leaves.",
    talk="A long conversation in a small window",
    marks="p f h c: from here tool results are pruned ({prune}), memories saved ({flush}, at the "
    "latest {hard}), messages compacted ({compact}).",
    pruned="pruned     {results:old tool result is/old tool results are} shown short now: "
    "{before} → {after} tokens. The originals stay in the transcript.",
    saved="saved      {read:message/messages} read, {saved:line/lines} written to {file}:",
    saved_nothing="saved      {read:message/messages} read; nothing new in them was worth a line.",
    compacted="compacted  {dropped:message/messages} left the view, every one of them read for "
    "memory first: {before} → {after} tokens.",
    unread="compacted  {dropped:message/messages} left the view, {unread} of them UNREAD: "
    "{before} → {after} tokens.",
    closing="The conversation is closed",
    closed="Of {said:message/messages} said, {on_disk} are on disk, word for word. Memory has "
    "{lines:line/lines} of Markdown.",
    pinned="The first message, with its “never”, was still in the last request.",
    restoring="A new session begins with what is known",
    restored="{tokens:token/tokens} from memory, before anybody has said a word:",
    cut="Shown in part, with the command that shows the rest: {cut}",
    asking="Questions to the new session",
    no_model="No model here: these are the passages that a model would be given, with where they "
    "are from.",
    with_model="{model} answers from the passages it was given.",
    no_answer="no answer: {reason}",
    nothing_found="nothing was found",
    more="and {count:passage/passages} more",
    writing="Memory is Markdown: read it, edit it, keep it in Git",
    next="Look around",
    counted="Counted while it ran: {messages:message/messages} said, {on_disk} on disk; {dropped} "
    "left the view, {read} of them read first; {prunes:prune/prunes}, {flushes:flush/flushes}, "
    "{compactions:compaction/compactions}; the largest request had {largest} of {window} tokens; "
    "{found} of {questions:question/questions} found.",
    problems="Something went wrong on this tour. Please report it.",
    troubles={
        "unread": "{what} messages left the view without having been read for memory",
        "lost": "{what} messages are not on disk as they were said",
        "too_large": "a request had {what} tokens, more than the window",
        "unpinned": "the last request had lost the first message: {what}",
        "not_found": "nothing in memory answered: {what}",
    },
    tried={
        "status": "what is used, and how full the window is",
        "search": "find it again",
        "show": "the summaries the model saw instead of old messages",
        "events": "every decision, with its numbers",
        "replay": "the same conversation, compared with plain trimming",
        "proofs": "the plug pulled, a bit flipped, a text erased",
    },
    remove="Remove the folder when you are done.",
    left="You left the tour. Its files: {home}",
    answerless="No model is set up here.",
    finds="{answerless} Memory finds:",
    finds_nothing="{answerless} Memory finds nothing about this.",
    chosen="{model} answers here ({why}).",
    offer="There is no model to talk with here yet. Three ways to one:",
    ways=(
        "use a key of a provider",
        "use a server on this machine (Ollama, llama.cpp, LM Studio)",
        "fetch {title} into this program: {size}, once",
        "leave",
    ),
    choose="1, 2, 3 or q: ",
    not_a_way="That is none of 1, 2, 3 and q.",
    keys="A key is looked for in these variables of the environment:",
    which_key="Which one do you have? (Enter: back) ",
    paste_key="Paste the key; it is not shown (Enter: back): ",
    key_kept="It is used until this program ends, and written nowhere. To keep it: export "
    "{variable}=… in the profile of your shell.",
    no_key="There is no provider {name} in the list.",
    server="Start one of these in another terminal, then come back:",
    look_again="Enter looks again, b goes back: ",
    fetch="{title}, {size}, {licence}, is fetched to {folder} and checked. It can be stopped at "
    "any time and goes on where it stopped.",
    sure="Fetch {size} now? [y/N] ",
    still_none="Still no model.",
    goodbye="Come back at any time: {call} start",
    as_text="Nobody is at a terminal, so nothing is asked. What to do:",
    own_console="The console opens on your own memory.",
    tour_console="Until then the console opens on a tour: the real engine, offline, in a folder "
    "that is gone at the end. Your own memory is beside it; “Look again” there finds a model that "
    "came meanwhile.",
    no_console="The console is not installed here ({command}); this is the terminal.",
    is_running="A console of this home runs already. A new link to it:",
)

CHINESE: Final = Words(
    title="Holdfast 导览",
    about="{who}和一个会用工具的助手一起筹备家庭聚会，一共{messages}条消息，模型的窗口只有{window}个"
    "词元。以下都由真正的引擎完成",
    alone="：不联网，不需要密钥，也不需要模型。",
    not_alone="；只有最后的问题由模型回答。",
    place="文件在：{home}",
    stop="按 Ctrl-C 离开。",
    talk="长对话，小窗口",
    marks="p f h c：到这里分别开始缩短工具结果（{prune}）、保存记忆（{flush}，最迟{hard}）、"
    "压缩旧消息（{compact}）。",
    pruned="缩短  {results}个旧的工具结果从现在起只显示概要：{before} → {after}个词元。"
    "原文仍在记录里。",
    saved="保存  读了{read}条消息，写入{saved}行记忆到 {file}：",
    saved_nothing="保存  读了{read}条消息，没有需要新记的内容。",
    compacted="压缩  {dropped}条消息离开了视野，离开之前每一条都读过：{before} → {after}个词元。",
    unread="压缩  {dropped}条消息离开了视野，其中{unread}条没有读过！{before} → {after}个词元。",
    closing="对话结束",
    closed="说过的{said}条消息里，有{on_disk}条一字不差地存在磁盘上。记忆里有{lines}行 Markdown。",
    pinned="第一条消息连同其中的“绝对不要”，在最后一次请求里仍然完整。",
    restoring="新的会话从记忆开始",
    restored="还没有人开口，就已经带上了{tokens}个词元的记忆：",
    cut="以下只显示了一部分，并写明怎样看全文：{cut}",
    asking="向新会话提问",
    no_model="这里没有模型：下面就是会交给模型的段落和出处。",
    with_model="{model} 根据这些段落作答。",
    no_answer="没有答案：{reason}",
    nothing_found="没有找到",
    more="另有{count}段",
    writing="记忆就是 Markdown：可以看，可以改，可以放进 Git",
    next="接下来可以试试",
    counted="运行中数出来的：说了{messages}条消息，磁盘上有{on_disk}条；{dropped}条离开了视野，其中"
    "{read}条事先读过；缩短{prunes}次，保存{flushes}次，压缩{compactions}次；最大的一次请求有"
    "{largest}个词元，窗口是{window}；{questions}个问题找到{found}个。",
    problems="这次导览出了问题，请告诉我们。",
    troubles={
        "unread": "有{what}条消息没有读过就离开了视野",
        "lost": "有{what}条消息在磁盘上与原话不符",
        "too_large": "有一次请求有{what}个词元，超过了窗口",
        "unpinned": "最后一次请求里没有了第一条消息：{what}",
        "not_found": "记忆里没有找到答案：{what}",
    },
    tried={
        "status": "用了多少，窗口有多满",
        "search": "再找一次",
        "show": "模型看到的摘要，代替了旧消息",
        "events": "每个决定和它的数字",
        "replay": "同一段对话，与简单截断比较",
        "proofs": "断电、坏一个比特、彻底抹去一段文字",
    },
    remove="看完以后可以删除这个文件夹。",
    left="您离开了导览。文件在：{home}",
    answerless="这里还没有模型。",
    finds="{answerless}记忆里找到：",
    finds_nothing="{answerless}记忆里没有找到相关内容。",
    chosen="这里由 {model} 作答（{why}）。",
    offer="这里还没有可以对话的模型。有三种办法：",
    ways=(
        "使用服务商的密钥",
        "使用本机的模型服务（Ollama、llama.cpp、LM Studio）",
        "把 {title} 下载到本程序里：{size}，只需一次",
        "离开",
    ),
    choose="1、2、3 或 q：",
    not_a_way="请输入 1、2、3 或 q。",
    keys="会在这些环境变量里找密钥：",
    which_key="您有哪一家的？（回车返回）",
    paste_key="请粘贴密钥，不会显示（回车返回）：",
    key_kept="只在本程序结束之前使用，不会写到任何地方。要长期使用，请在 shell 的配置里写 "
    "export {variable}=…",
    no_key="列表里没有 {name}。",
    server="请在另一个终端里启动其中之一，然后回来：",
    look_again="回车再找一次，b 返回：",
    fetch="{title}，{size}，{licence} 许可，将下载到 {folder} 并校验。可以随时中断，下次接着下载。",
    sure="现在下载 {size} 吗？[y/N] ",
    still_none="仍然没有模型。",
    goodbye="随时可以再来：{call} start",
    as_text="这里没有终端，所以不提问。可以这样做：",
    own_console="控制台打开的是您自己的记忆。",
    tour_console="在此之前，控制台先打开导览：由真正的引擎完成，不联网，文件夹用完即删。您自己的记忆就在"
    "旁边；之后有了模型，在那里点“重新查找”即可。",
    no_console="这里没有安装控制台（{command}），以下在终端里进行。",
    is_running="这个目录的控制台已经在运行。新的链接：",
)

_WORDS: Final[Mapping[Language, Words]] = {"en": ENGLISH, "zh": CHINESE}


def words_in(language: Language) -> Words:
    return _WORDS[language]
