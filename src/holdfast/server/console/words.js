// What the pages say, in English and Chinese. Pages add their own words under their own prefix.
//
// A text may have places in braces, {name}; a text that counts is {one, other}, chosen by `count`.

const LANGUAGE = "holdfast.language";
const all = { en: {}, zh: {} };
let current = chosen();

function chosen() {
  let kept = null;
  try {
    kept = localStorage.getItem(LANGUAGE);
  } catch { /* then the browser's */ }
  if (kept === "en" || kept === "zh") return kept;
  return /^zh\b/i.test(navigator.language || "") ? "zh" : "en";
}

export function language() {
  return current;
}

export function setLanguage(name) {
  current = name === "zh" ? "zh" : "en";
  document.documentElement.lang = current === "zh" ? "zh-Hans" : "en";
  try {
    localStorage.setItem(LANGUAGE, current);
  } catch { /* then for this page only */ }
}

export function addWords(words) {
  for (const lang of ["en", "zh"]) Object.assign(all[lang], words[lang]);
}

export function t(key, values) {
  let text = all[current][key] ?? all.en[key] ?? key;
  if (typeof text === "object") text = values && Number(values.count) === 1 ? text.one : text.other;
  if (!values) return text;
  return text.replace(/\{(\w+)\}/g, (whole, name) => {
    if (!(name in values)) return whole;
    const value = values[name];
    return typeof value === "number" ? value.toLocaleString(locale()) : String(value);
  });
}

export function locale() {
  return current === "zh" ? "zh-CN" : "en-US";
}

document.documentElement.lang = current === "zh" ? "zh-Hans" : "en";

addWords({
  en: {
    "app.name": "Holdfast",
    "app.skip": "Skip to content",
    "app.nav": "Pages",
    "nav.chat": "Chat",
    "nav.memory": "Memory",
    "nav.search": "Search",
    "nav.sessions": "Sessions",
    "nav.health": "Health",
    "place.label": "Whose memory",
    "place.own": "My memory",
    "place.tour": "Tour",
    "live.live": "Live",
    "live.connecting": "Connecting",
    "live.down": "No connection",
    "live.title.live": "Live: what happens is shown as it happens",
    "live.title.connecting": "Connecting to the server",
    "live.title.down": "The server does not answer; trying again",
    "live.banner": "The server does not answer. What you typed is kept; this page tries again by itself.",
    "theme.to.light": "Switch to light",
    "theme.to.dark": "Switch to dark",
    "language.to": "中文",
    "language.label": "Switch to Chinese (中文)",
    "signout.label": "Sign out",
    "signin.title": "Sign in to Holdfast",
    "signin.text": "This console shows your agent's memory, so it asks who you are, also on this machine. Each tab signs in by itself.",
    "signin.code.used": "The link was used already, or is older than five minutes.",
    "signin.expired": "You were signed out: the server was started again, its token was changed, or nothing was done here for 12 hours.",
    "signin.link": "Get a new link in a terminal:",
    "signin.token": "Or paste the server's token, from the file server.token in Holdfast's folder:",
    "signin.token.label": "Token",
    "signin.action": "Sign in",
    "signin.busy": "Signing in…",
    "action.cancel": "Cancel",
    "action.close": "Close",
    "action.retry": "Try again",
    "action.undo": "Undo",
    "action.save": "Save",
    "error.page": "This page could not be shown",
    "error.hint": "What to do",
    "error.offline": "The server does not answer.",
    "error.offline.hint": "Is it still running? Start it with: holdfast serve",
    "error.unexpected": "Something went wrong in this page.",
    "loading": "Loading…",
    "notfound.title": "There is no such page",
    "notfound.text": "The address names no page of this console.",
    "notfound.action": "Go to Chat",
    "keys.title": "Keys",
    "keys.go": "Go to {page}",
    "keys.search": "Search memory",
    "keys.help": "Show these keys",
    "keys.send": "Send the message",
    "keys.newline": "New line in the message",
    "keys.stop": "Stop the answer, or close what is open",
    "keys.then": "then",
    "keys.open": "Keyboard shortcuts",
    "time.now": "just now",
    "trust.user": "said by the user",
    "trust.agent": "said by the assistant, unconfirmed",
    "trust.tool": "from a tool, unconfirmed",
    "trust.import": "imported, unconfirmed",
  },
  zh: {
    "app.name": "Holdfast",
    "app.skip": "跳到正文",
    "app.nav": "页面",
    "nav.chat": "对话",
    "nav.memory": "记忆",
    "nav.search": "搜索",
    "nav.sessions": "会话",
    "nav.health": "状态",
    "place.label": "谁的记忆",
    "place.own": "我的记忆",
    "place.tour": "导览",
    "live.live": "实时",
    "live.connecting": "连接中",
    "live.down": "未连接",
    "live.title.live": "实时：发生的事立即显示",
    "live.title.connecting": "正在连接服务器",
    "live.title.down": "服务器没有应答，正在重试",
    "live.banner": "服务器没有应答。你输入的内容会保留，本页会自动重试。",
    "theme.to.light": "切换到浅色",
    "theme.to.dark": "切换到深色",
    "language.to": "EN",
    "language.label": "切换到英文 (English)",
    "signout.label": "退出登录",
    "signin.title": "登录 Holdfast",
    "signin.text": "控制台会显示智能体的记忆，所以即使在本机也需要登录。每个标签页分别登录。",
    "signin.code.used": "这个链接已用过，或已超过五分钟。",
    "signin.expired": "你已退出登录：服务器重新启动过，令牌已更换，或已有 12 小时没有操作。",
    "signin.link": "在终端里取得新链接：",
    "signin.token": "或粘贴服务器令牌（Holdfast 目录中的 server.token 文件）：",
    "signin.token.label": "令牌",
    "signin.action": "登录",
    "signin.busy": "正在登录…",
    "action.cancel": "取消",
    "action.close": "关闭",
    "action.retry": "重试",
    "action.undo": "撤销",
    "action.save": "保存",
    "error.page": "无法显示此页面",
    "error.hint": "怎么办",
    "error.offline": "服务器没有应答。",
    "error.offline.hint": "它还在运行吗？用这条命令启动：holdfast serve",
    "error.unexpected": "页面出错了。",
    "loading": "加载中…",
    "notfound.title": "没有这个页面",
    "notfound.text": "这个地址不对应控制台的任何页面。",
    "notfound.action": "去对话页",
    "keys.title": "快捷键",
    "keys.go": "前往{page}",
    "keys.search": "搜索记忆",
    "keys.help": "显示快捷键",
    "keys.send": "发送消息",
    "keys.newline": "消息内换行",
    "keys.stop": "停止回答，或关闭打开的窗口",
    "keys.then": "然后",
    "keys.open": "键盘快捷键",
    "time.now": "刚刚",
    "trust.user": "用户所说",
    "trust.agent": "助手所说，未经确认",
    "trust.tool": "来自工具，未经确认",
    "trust.import": "导入，未经确认",
  },
});
