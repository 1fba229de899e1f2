// 事件的中文说法，每种事件一句。任何字段都可能缺失（其他版本写下的事件）。

import { money, tokens } from "../../format.js";
import { phrase } from "../../parts/phrases.js";

const count = (value) => tokens(value ?? 0);
const because = (e) => (e.reason ? `：${phrase(e.reason)}` : "");
const fromTo = (e) => (e.tokens_before == null ? "" : `，${tokens(e.tokens_before)} → ${tokens(e.tokens_after)} 个词元`);
const ms = (e) => (e.took_ms == null ? "" : `，${tokens(e.took_ms)} 毫秒`);
const cost = (e) => (e.cost ? `，${money(e.cost)}` : "");
const listed = (all) => [all ?? []].flat().join("、");

const LEVELS = { prune: "缩短", flush: "保存", hard: "硬阈值", compact: "压缩" };
const MODES = { rules: "规则", extract: "模型提取", agent: "模型自行保存" };
const STRATEGIES = { layered: "分层", summary: "摘要", selective: "择要" };
const INDEXED = { synced: "已更新", rebuilt: "已重建", "given up": "已放弃，将重建" };
const mode = (e) => MODES[e.mode] ?? e.mode ?? "规则";

function flushed(e) {
  if (e.outcome === "failed") return `记忆未能保存${because(e)}`;
  const known = e.duplicates ? `，${count(e.duplicates)} 条已记过` : "";
  const end = `${known}，方式：${mode(e)}${cost(e)}${ms(e)}`;
  if (!e.saved) return `检查了 ${count(e.covered)} 条：没有新内容要保存${end}`;
  return `保存了 ${count(e.saved)} 条记忆${e.file ? `到 ${e.file}` : ""}${end}`;
}

export const SENTENCES = {
  session_started: (e) =>
    `${e.resumed ? "重新打开会话" : "会话开始"}${e.forked_from ? `，分支自 ${e.forked_from}` : ""}，${count(e.entries)} 条记录`,
  session_closed: (e) => `会话关闭，${count(e.entries)} 条记录`,
  session_renamed: (e) => `会话重命名为 ${e.to ?? "?"}`,
  session_deleted: (e) => `会话已删除，${count(e.entries)} 条记录`,
  storage_degraded: (e) => (e.state === "resumed" ? `磁盘恢复写入${because(e)}` : `磁盘拒绝写入（${e.operation ?? "?"}）${because(e)}`),
  transcript_damaged: (e) => `发现 ${count(e.regions)} 处损坏，${count(e.damaged_bytes)} 字节已移到 ${e.quarantine ?? "?"}`,
  context_measured: (e) =>
    `下一次请求：${tokens(e.window)} 个词元中的 ${tokens(e.projected)} 个，${count(e.messages)} 条消息；到 ${tokens(e.compact_at)} 时压缩`,
  context_pressure: (e) => `到达“${LEVELS[e.level] ?? e.level}”刻度：${tokens(e.projected)} 个词元，刻度 ${tokens(e.mark)}`,
  tool_results_pruned: (e) => `${count(e.shortened)} 段长结果缩短显示${fromTo(e)}${e.saved_cost ? `，省下 ${money(e.saved_cost)}` : ""}`,
  memory_flush_start: (e) => `正在保存 ${count(e.entries)} 条记录中的重要内容，方式：${mode(e)}${because(e)}`,
  memory_flush_end: flushed,
  memory_flush_skipped: (e) => `没有保存${because(e)}`,
  memory_written: (e) => `写入 ${count(e.added)} 条记忆${e.path ? `到 ${e.path}` : ""}${e.skipped ? `，${count(e.skipped)} 条已记过` : ""}`,
  memory_changed: (e) => `记忆有改动：${phrase(e.what ?? "?")}，${count(e.files)} 个文件`,
  memory_conflict: (e) => `有两条记忆互相矛盾${e.kind ? `（${phrase(e.kind)}）` : ""}：请到记忆页处理`,
  memory_forgotten: (e) => `${count(e.items)} 条记忆移到归档`,
  memory_erased: (e) => `从 ${count(e.stores)} 处存储的 ${count(e.spans)} 个位置彻底删除${e.remaining ? `；还剩 ${count(e.remaining)} 处` : ""}`,
  searched: (e) => `搜索找到 ${count(e.passages)} 段${ms(e)}${e.degraded?.length ? `；${listed([e.degraded].flat().map(phrase))}` : ""}`,
  index_changed: (e) => `搜索索引${INDEXED[e.what] ?? e.what ?? "有变化"}：${count(e.documents)} 个文档，编码 ${count(e.embedded)} 段${because(e)}`,
  compaction_start: (e) => `开始压缩：${count(e.leaving)} 条将移出视野，共 ${tokens(e.tokens_before)} 个词元${because(e)}`,
  compaction_end: (e) => `已压缩：${count(e.dropped)} 条移出视野${fromTo(e)}，方式：${STRATEGIES[e.strategy] ?? e.strategy ?? "?"}${cost(e)}`,
  compaction_failed: (e) => `没有压缩${because(e)}；视野没有变化`,
  restore_done: (e) =>
    e.tokens
      ? `恢复了 ${tokens(e.tokens)} 个词元的记忆${e.sources?.length ? `，来自 ${listed(e.sources)}` : ""}${e.cut?.length ? `；放不下：${listed(e.cut)}` : ""}`
      : `没有恢复内容${because(e)}`,
  recall_done: (e) => (e.passages ? `想起 ${count(e.passages)} 段，${tokens(e.tokens)} 个词元${ms(e)}` : `没有想起内容${because(e)}${ms(e)}`),
  message_start: (e) => `模型开始回答${e.step > 1 ? `，第 ${e.step} 步` : ""}`,
  message_end: (e) =>
    `回答已保存${e.tool_calls ? `，${count(e.tool_calls)} 次工具调用` : ""}${e.input_tokens == null ? "" : `，读 ${tokens(e.input_tokens)} 个词元，写 ${tokens(e.output_tokens)} 个`}`,
  tool_start: (e) => `调用工具 ${e.tool ?? "?"}`,
  tool_end: (e) => `工具 ${e.tool ?? "?"} ${e.is_error ? "出错" : "已回答"}${ms(e)}`,
  turn_finished: (e) => `一轮结束：${count(e.steps)} 步，${tokens(e.projected)} 个词元${ms(e)}`,
  notice_sent: (e) => `通过 ${e.channel ?? "?"} 发送通知“${phrase(e.kind ?? "?")}”：${phrase(e.outcome ?? "?")}${because(e)}`,
  command_ran: (e) => `硬阈值命令：${e.outcome ?? "?"}${e.exit_code == null ? "" : `，退出码 ${e.exit_code}`}${because(e)}`,
  cost_limit_reached: (e) => `已达到今日上限：${money(e.spent)} / ${money(e.limit)}；${e.what ?? "后台工作"}改用规则`,
};
