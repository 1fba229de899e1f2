// What the engine says in English, in Chinese where it is one of its known sentences; anything
// else stays as it was said. Used by Health (check-up, events, models, index) and Search.
// Proved by tests/server/test_console_health.py.

import { language } from "../words.js";

// Words that stand alone: why something was done, and what was done.
const WORDS = {
  manual: "手动",
  close: "关闭会话",
  closed: "关闭会话",
  new: "开始新会话",
  reset: "重新开始",
  shutdown: "服务停止",
  threshold: "到达压缩刻度",
  interval: "定时检查",
  idle: "空闲",
  asked: "按要求",
  "flush_at is reached": "到达保存刻度",
  "hard_at is reached": "到达硬阈值",
  "nothing leaves the view": "没有内容要移出视野",
  "nothing to drop: all that is left must stay": "没有可移出的内容，剩下的都必须保留",
  "nothing is remembered yet": "还没有任何记忆",
  "memory is switched off": "记忆已关闭",
  "it was said while memory was off": "说这些话时记忆是关闭的",
  "what was found is in the view already": "找到的内容已在视野中",
  "the message names nothing to look for": "消息中没有可搜索的内容",
  "no model is configured": "没有设置模型",
  "no model": "没有模型",
  "no reply": "没有回答",
  "there is nothing to read": "没有可读的内容",
  "the flush does not fit the window of its model": "保存请求超出模型窗口",
  "its reply was no JSON": "回答不是 JSON",
  "another process edited the session meanwhile": "另一个进程同时修改了会话",
  "the time for models is used up": "模型可用的时间已用完",
  remember: "记住",
  flush: "保存记忆",
  edit: "编辑",
  undo: "撤销",
  forget: "忘记",
  archive: "归档",
  restore: "恢复",
  confirm: "确认",
  retract: "收回",
  resolve: "处理矛盾",
  supersede: "取代",
  support: "再次提到",
  observe: "比对新旧记忆",
  alias: "别名",
  erase: "彻底删除",
  import: "导入",
  "undo import": "撤销导入",
  "late save": "补存",
  "open task": "新建任务",
  "update task": "更新任务",
  "task updated": "更新任务",
  "close task": "结束任务",
  number: "数字不同",
  date: "日期不同",
  value: "内容不同",
  polarity: "说法相反",
  hard_threshold: "硬阈值",
  model_down: "模型不可用",
  nearly_full: "即将写满",
  sent: "已发送",
  refused: "被拒绝",
  failed: "失败",
  unavailable: "不可用",
  "model.name is set": "已设置 model.name",
  "model.name is none": "model.name 设为 none",
  "no key in the environment, no server on this machine, no model fetched": "环境变量中没有密钥，本机没有模型服务，也没有下载模型",
  "no key that is known is set": "没有设置已知的密钥",
  "a key in the environment": "环境变量中的密钥",
  "a server on this machine": "本机的模型服务",
  "a model on this machine": "本机的模型",
  "nobody else can read your files": "其他人读不到你的文件",
  "no half-written files": "没有写到一半的文件",
  "no index yet; the first search makes one": "还没有索引，第一次搜索时建立",
  local: "本地",
  "Free some disk space.": "请腾出一些磁盘空间。",
  "Run: holdfast doctor --fix": "运行：holdfast doctor --fix",
  "Run: holdfast conflicts list": "在“矛盾”中处理，或运行：holdfast conflicts list",
  "Build the index anew: holdfast index rebuild": "重建索引：holdfast index rebuild",
  "Use WSL on Windows.": "在 Windows 上请使用 WSL。",
  "Rename or move them; until then they are left alone and not read.": "请改名或移走；在此之前它们不会被读取，也不会被改动。",
  "They are kept for parts of Holdfast that are still to come.": "它们留给 Holdfast 以后的部分。",
  "Keep the home on a local disk: holdfast --home DIR …": "请把主目录放在本地磁盘上：holdfast --home DIR …",
  "Compare it with a backup: holdfast backup verify FILE": "请与备份比较：holdfast backup verify FILE",
  "A key in the environment, a server such as Ollama, or holdfast model get qwen2.5-coder-1.5b":
    "设置环境变量中的密钥，或运行 Ollama 之类的服务，或 holdfast model get qwen2.5-coder-1.5b",
  'switched off (search.embedder = "none")': "已关闭（search.embedder = \"none\"）",
};

// Sentences with something in them. Anchored, each with one place that may be long.
const SENTENCES = [
  [/^undo: (.{1,80})$/, (what) => `撤销：${inChinese(what)}`],
  [/^all (\d+) entries that leave are covered$/, (count) => `将移出的 ${count} 条都已检查过`],
  [/^nothing is close enough \(([\d.]+) of ([\d.]+)\)$/, (found, wanted) => `没有足够接近的内容（${found}，需要 ${wanted}）`],
  [/^shortened until ([\d,]+) tokens were reached$/, (count) => `缩短到 ${count} 个词元为止`],
  [/^([\d,]+) tokens above ([\d,]+): all that is left must stay$/, (over, mark) => `比 ${mark} 多 ${over} 个词元：剩下的都必须保留`],
  [/^index: (\d+) changed documents? (?:is|are) not indexed yet \(holdfast index sync\)$/, (count) => `索引：有 ${count} 个改动过的文档还未编入（holdfast index sync）`],
  [/^the provider refused it (\d+) times as too large$/, (count) => `服务商 ${count} 次以过长为由拒绝`],
  [/^meaning: (.{1,300})$/, (why) => `语义：${inChinese(why)}`],
  [/^agent: (.{1,200}); extract: (.{1,200})$/, (agent, extract) => `模型自行保存：${inChinese(agent)}；模型提取：${inChinese(extract)}`],
  [/^(\S{1,60}) is set$/, (name) => `已设置 ${name}`],
  [/^(\S{1,60}) answers at (.{1,120})$/, (kind, where) => `${kind} 在 ${where} 应答`],
  [/^nobody answers at (.{1,200})$/, (where) => `${where} 没有应答`],
  [/^(.{1,200}) has no model$/, (where) => `${where} 没有模型`],
  [/^(\S{1,120}) is here$/, (name) => `本机已有 ${name}`],
  [/^none fetched: (.{1,120})$/, (command) => `尚未下载：${command}`],
  [/^not (?:asked|installed): (pip install .{1,60})$/, (command) => `未安装：${command}`],
  [/^Python (\S{1,40}) on (\S{1,40}) (\S{1,40})$/, (version, system, machine) => `Python ${version}，${system} ${machine}`],
  [/^(.{1,400}) takes durable writes$/, (path) => `${path} 可以可靠写入`],
  [/^(.{1,400}) is on (\S{1,40}): locks and syncs may not mean what they say$/, (path, kind) => `${path} 位于 ${kind}：锁和同步未必可靠`],
  [/^([\d.]+ GiB) free$/, (size) => `剩余 ${size}`],
  [/^made (\d+) file\(s\) private$/, (count) => `已将 ${count} 个文件设为私有`],
  [/^(\d+) file\(s\) can be read by others, such as (.{1,400})$/, (count, path) => `有 ${count} 个文件其他人可以读到，例如 ${path}`],
  [/^removed (\d+) half-written file\(s\)$/, (count) => `删除了 ${count} 个写到一半的文件`],
  [/^(\d+) half-written file\(s\) of an earlier crash$/, (count) => `有 ${count} 个先前崩溃时写到一半的文件`],
  [/^(\d+) session\(s\), none damaged$/, (count) => `${count} 个会话，没有损坏`],
  [/^(\d+) session\(s\); damaged bytes were set aside in: (.{1,400})$/, (count, names) => `${count} 个会话；损坏的字节已另存：${names}`],
  [/^Run: holdfast sessions verify (.{1,200})$/, (name) => `运行：holdfast sessions verify ${name}`],
  [/^(\d+) file\(s\); (\d+) contradiction\(s\) wait for a decision$/, (files, count) => `${files} 个文件；有 ${count} 处矛盾等待处理`],
  [/^(\d+) file\(s\), nothing contradicts$/, (count) => `${count} 个文件，没有矛盾`],
  [/^(\d+) passages; meaning: (.{1,300})$/, (count, how) => `${count} 段；语义：${inChinese(how)}`],
  [/^none; rules do without one \((.{1,600})\)$/, (why) => `没有模型；按规则进行（${listed(why)}）`],
  [/^(\S{1,120}), because ([^()]{1,200}?)(?: \((.{1,600})\))?$/, (name, why, passed) => `${name}，原因：${inChinese(why)}${passed ? `（${listed(passed)}）` : ""}`],
  [/^(\d+) change\(s\), the chain holds$/, (count) => `${count} 次改动，记录链完整`],
  [/^audit\.jsonl was changed: line (\d+) is not what was written$/, (line) => `audit.jsonl 被改动过：第 ${line} 行与当初写下的不同`],
  [/^(\S{1,80}); today is (\d{4}-\d{2}-\d{2})$/, (zone, day) => `${zone}；今天是 ${day}`],
  [/^(\d+) setting\(s\) of your own$/, (count) => `${count} 项自定义设置`],
  [/^set, but without effect yet: (.{1,600})$/, (names) => `已设置但尚无作用：${names}`],
];

// "place: why; place: why"
function listed(text) {
  const part = (each) => {
    const at = each.indexOf(": ");
    return at < 0 ? inChinese(each) : `${inChinese(each.slice(0, at))}：${inChinese(each.slice(at + 2))}`;
  };
  return text.split("; ").map(part).join("；");
}

function inChinese(text) {
  if (Object.hasOwn(WORDS, text)) return WORDS[text];
  for (const [pattern, say] of SENTENCES) {
    const found = pattern.exec(text);
    if (found) return say(...found.slice(1));
  }
  return text;
}

/** What the engine said, in the language of the page as far as it is known there. */
export function phrase(text) {
  const said = String(text ?? "");
  return language() === "zh" && said.length < 2000 ? inChinese(said) : said;
}
