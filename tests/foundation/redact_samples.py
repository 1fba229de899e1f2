"""Credentials as their issuers make them, values as people assign them, and what only looks alike.

Made from what issuers say about their formats, not from the patterns that must find them.
Nothing here was ever valid.
"""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Callable
from random import Random
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits

__all__ = ["ALIKE", "ASSIGNED", "CONTEXTS", "PREFIXED", "STRUCTURED", "assigned_value"]

Make = Callable[[Random], str]

ALNUM = ascii_letters + digits
HEX = "0123456789abcdef"
URL_SAFE = ALNUM + "_-"
BASE64 = ALNUM + "+/"
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def of(alphabet: str, length: int) -> Make:
    def make(rng: Random) -> str:
        text = "".join(rng.choices(alphabet, k=length))
        return text if alphabet == digits or length < 12 else f"{text[:-3]}{_mixed(rng, alphabet)}"

    return make


def _mixed(rng: Random, alphabet: str) -> str:
    """A digit and letters among the last: a random token without any is as good as impossible."""
    letters = [char for char in alphabet if char.isalpha()]
    return (
        rng.choice(letters) + rng.choice([c for c in alphabet if c.isdigit()]) + rng.choice(letters)
    )


def uuid_of(rng: Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def b64(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def jwt(rng: Random) -> str:
    head = b64(json.dumps({"alg": "HS256", "typ": "JWT"}))
    body = b64(json.dumps({"sub": of(digits, 10)(rng), "name": "Jo", "iat": 1516239022}))
    return f"{head}.{body}.{of(URL_SAFE, 43)(rng)}"


def start(prefix: str, alphabet: str, length: int) -> Make:
    rest = of(alphabet, length)
    return lambda rng: prefix + rest(rng)


PREFIXED: dict[str, Make] = {
    "aws": start("AKIA", ascii_uppercase + "234567", 16),
    "aws-session": start("ASIA", ascii_uppercase + "234567", 16),
    "google": start("AIza", URL_SAFE, 35),
    "google-secret": start("GOCSPX-", URL_SAFE, 28),
    "google-oauth": start("ya29.", URL_SAFE, 160),
    "google-refresh": start("1//0", URL_SAFE, 60),
    "github": start("ghp_", ALNUM, 36),
    "github-oauth": start("gho_", ALNUM, 36),
    "github-app": start("ghs_", ALNUM, 36),
    "github-refresh": start("ghr_", ALNUM, 76),
    "github-fine": lambda r: f"github_pat_{of(ALNUM, 22)(r)}_{of(ALNUM, 59)(r)}",
    "gitlab": start("glpat-", URL_SAFE, 20),
    "gitlab-runner": start("glrt-", URL_SAFE, 20),
    "gitlab-deploy": start("gldt-", URL_SAFE, 20),
    "slack-bot": lambda r: f"xoxb-{of(digits, 12)(r)}-{of(digits, 13)(r)}-{of(ALNUM, 24)(r)}",
    "slack-user": lambda r: f"xoxp-{of(digits, 11)(r)}-{of(digits, 11)(r)}-{of(HEX, 32)(r)}",
    "slack-app": lambda r: (
        f"xapp-1-A{of(ascii_uppercase, 10)(r)}-{of(digits, 13)(r)}-{of(HEX, 64)(r)}"
    ),
    "slack-webhook": lambda r: (
        f"https://hooks.slack.com/services/T{of(ascii_uppercase, 8)(r)}"
        f"/B{of(ascii_uppercase, 8)(r)}/{of(ALNUM, 24)(r)}"
    ),
    "stripe": start("sk_live_", ALNUM, 24),
    "stripe-test": start("sk_test_", ALNUM, 99),
    "stripe-restricted": start("rk_live_", ALNUM, 24),
    "webhook": start("whsec_", ALNUM, 32),
    "openai": lambda r: f"sk-{of(ALNUM, 20)(r)}T3BlbkFJ{of(ALNUM, 20)(r)}",
    "openai-project": lambda r: f"sk-proj-{of(URL_SAFE, 74)(r)}T3BlbkFJ{of(URL_SAFE, 74)(r)}",
    "openai-service": start("sk-svcacct-", URL_SAFE, 120),
    "deepseek": start("sk-", HEX, 32),
    "anthropic": lambda r: f"sk-ant-api03-{of(URL_SAFE, 93)(r)}AA",
    "anthropic-oauth": lambda r: f"sk-ant-oat01-{of(URL_SAFE, 93)(r)}AA",
    "openrouter": start("sk-or-v1-", HEX, 64),
    "hugging-face": start("hf_", ascii_letters + "0123456789", 34),
    "groq": start("gsk_", ALNUM, 52),
    "xai": start("xai-", ALNUM, 80),
    "perplexity": start("pplx-", ALNUM, 48),
    "replicate": start("r8_", ALNUM, 37),
    "nvidia": start("nvapi-", URL_SAFE, 64),
    "tavily": start("tvly-", ALNUM, 32),
    "pinecone": lambda r: f"pcsk_{of(ALNUM, 6)(r)}_{of(ALNUM, 63)(r)}",
    "langsmith": lambda r: f"lsv2_pt_{of(HEX, 32)(r)}_{of(HEX, 10)(r)}",
    "zhipu": lambda r: f"{of(HEX, 32)(r)}.{of(ALNUM, 15)(r)}Z",
    "npm": start("npm_", ALNUM, 36),
    "pypi": start("pypi-AgEIcHlwaS5vcmc", URL_SAFE, 120),
    "rubygems": start("rubygems_", HEX, 48),
    "docker": start("dckr_pat_", URL_SAFE, 27),
    "nuget": start("oy2", ascii_lowercase + digits, 43),
    "crates": start("cio", ALNUM, 32),
    "twilio": start("SK", HEX, 32),
    "sendgrid": lambda r: f"SG.{of(URL_SAFE, 22)(r)}.{of(URL_SAFE, 43)(r)}",
    "mailgun": start("key-", HEX, 32),
    "mailchimp": lambda r: f"{of(HEX, 32)(r)}-us{r.randrange(1, 22)}",
    "brevo": lambda r: f"xkeysib-{of(HEX, 64)(r)}-{of(ALNUM, 16)(r)}",
    "telegram": lambda r: f"{r.randrange(10**9, 10**10)}:AA{of(URL_SAFE, 33)(r)}",
    "discord": lambda r: f"M{of(ALNUM, 23)(r)}.G{of(ALNUM, 5)(r)}.{of(URL_SAFE, 37)(r)}x",
    "discord-webhook": lambda r: (
        f"https://discord.com/api/webhooks/{of(digits, 18)(r)}/{of(URL_SAFE, 68)(r)}"
    ),
    "digitalocean": start("dop_v1_", HEX, 64),
    "shopify": start("shpat_", HEX, 32),
    "square": start("sq0atp-", URL_SAFE, 22),
    "databricks": start("dapi", HEX, 32),
    "cloudflare-origin": lambda r: f"v1.0-{of(HEX, 24)(r)}-{of(HEX, 146)(r)}",
    "heroku": start("HRKU-", URL_SAFE, 60),
    "vault": start("hvs.", URL_SAFE, 90),
    "terraform": lambda r: f"{of(ALNUM, 14)(r)}.atlasv1.{of(URL_SAFE, 67)(r)}",
    "doppler": start("dp.pt.", ALNUM, 43),
    "pulumi": start("pul-", HEX, 40),
    "planetscale": start("pscale_tkn_", URL_SAFE, 43),
    "supabase": start("sbp_", HEX, 40),
    "netlify": start("nfp_", ALNUM, 36),
    "linear": start("lin_api_", ALNUM, 40),
    "notion": start("ntn_", ALNUM, 46),
    "notion-old": start("secret_", ALNUM, 43),
    "figma": start("figd_", URL_SAFE, 40),
    "airtable": lambda r: f"pat{of(ALNUM, 14)(r)}.{of(HEX, 64)(r)}",
    "atlassian": start("ATATT3x", URL_SAFE, 180),
    "hubspot": lambda r: f"pat-na1-{uuid_of(r)}",
    "new-relic": start("NRAK-", ascii_uppercase + digits, 27),
    "grafana": lambda r: f"glsa_{of(ALNUM, 32)(r)}_{of(HEX, 8)(r)}",
    "sentry": start("sntryu_", HEX, 64),
    "postman": lambda r: f"PMAK-{of(HEX, 24)(r)}-{of(HEX, 34)(r)}",
    "buildkite": start("bkua_", HEX, 40),
    "circleci": lambda r: f"CCIPAT_{of(ALNUM, 22)(r)}_{of(HEX, 40)(r)}",
    "sonar": start("squ_", HEX, 40),
    "tailscale": lambda r: f"tskey-auth-{of(ALNUM, 17)(r)}-{of(ALNUM, 32)(r)}",
    "alibaba": start("LTAI5t", ALNUM, 18),
    "tencent": start("AKID", ALNUM, 32),
    "dingtalk": start("SEC", HEX, 64),
    "feishu": lambda r: f"https://open.feishu.cn/open-apis/bot/v2/hook/{uuid_of(r)}",
    "wecom": lambda r: f"https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key={uuid_of(r)}",
    "age": start("AGE-SECRET-KEY-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
    "minisign": start("RWRTY0Iy", BASE64, 204),
    "xprv": start("xprv", BASE58, 107),
    "azure-app": lambda r: f"{of(ALNUM, 3)(r)}8Q~{of(URL_SAFE, 34)(r)}",
    "jwt": jwt,
}


def pem(kind: str) -> Make:
    def make(rng: Random) -> str:
        lines = "\n".join(of(BASE64, 64)(rng) for _ in range(rng.randrange(3, 26)))
        return f"-----BEGIN {kind}-----\n{lines}\n{of(BASE64, 30)(rng)}==\n-----END {kind}-----"

    return make


def card(rng: Random) -> str:
    body = rng.choice(["4", "51", "6011"])
    body += "".join(rng.choices(digits, k=15 - len(body)))
    total = 0
    for place, digit in enumerate(reversed(body)):
        doubled = int(digit) * 2 if place % 2 == 0 else int(digit)
        total += doubled - 9 if doubled > 9 else doubled
    whole = body + str(-total % 10)
    return rng.choice([" ", "-"]).join(whole[at : at + 4] for at in range(0, 16, 4))


SEED_WORDS = (
    "abandon ability absent abstract access accident account acoustic across actor actress adapt "
    "addict adjust admit adult advance advice aerobic affair afford afraid again agent agree ahead"
)


def password(rng: Random) -> str:
    word = rng.choice(["hunter", "Tr0ub4dor", "sommer", "Xiaoming", "qwerty", "dragon", "iloveyou"])
    return word + rng.choice("!@#$%*_-+.") * rng.randrange(2) + str(rng.randrange(10, 9999)) + "q"


PHRASE_WORDS = "correct horse battery staple orbit lantern velvet cactus tunnel anchor meadow"


def _phrase(rng: Random) -> str:
    return rng.choice(" -").join(rng.sample(PHRASE_WORDS.split(), rng.randrange(4, 8)))


# (text, what must be gone from it)
Placed = Callable[[Random], tuple[str, str]]


def placed(template: str, make: Make) -> Placed:
    def fill(rng: Random) -> tuple[str, str]:
        value = make(rng)
        return template.replace("{}", value), value

    return fill


PEM_KINDS = (
    "PRIVATE KEY",
    "RSA PRIVATE KEY",
    "EC PRIVATE KEY",
    "OPENSSH PRIVATE KEY",
    "ENCRYPTED PRIVATE KEY",
    "PGP PRIVATE KEY BLOCK",
)


def in_pem(kind: str) -> Placed:
    def fill(rng: Random) -> tuple[str, str]:
        key = pem(kind)(rng)
        return key, key.split("\n")[1]

    return fill


STRUCTURED: dict[str, Placed] = {
    **{f"pem {kind}": in_pem(kind) for kind in PEM_KINDS},
    "postgres": placed("postgres://app:{}@db.internal:5432/app", of(ALNUM, 14)),
    "mysql": placed("mysql+pymysql://root:{}@10.0.0.3/shop", password),
    "mongo": placed("mongodb+srv://admin:{}@cluster0.ab1cd.mongodb.net/", of(ALNUM, 16)),
    "redis": placed("redis://:{}@cache:6379/0", of(ALNUM, 20)),
    "amqp": placed("amqp://svc:{}@mq:5672/%2f", of(ALNUM, 12)),
    "basic url": placed("https://deploy:{}@git.example.org/x.git", of(ALNUM, 18)),
    "bearer": placed("Authorization: Bearer {}", of(URL_SAFE, 40)),
    "bearer prose": placed("curl -H 'authorization: bearer {}' https://x.org", of(ALNUM, 32)),
    "basic": placed("Authorization: Basic {}", lambda r: b64(f"user:{of(ALNUM, 12)(r)}")),
    "cookie": placed("Cookie: theme=dark; sessionid={}", of(HEX, 32)),
    "set-cookie": placed("Set-Cookie: sid={}; Path=/; HttpOnly", of(URL_SAFE, 40)),
    "phpsessid": placed("GET / PHPSESSID={}", of(ALNUM, 26)),
    "card": placed("paid with {} today", card),
    "amex": placed("card 3782 822463 10005{}", lambda r: ""),
    "seed": placed("my seed phrase: {}", lambda r: " ".join(r.sample(SEED_WORDS.split(), 12))),
    "seed zh": placed("助记词是：{}", lambda r: " ".join(r.sample(SEED_WORDS.split(), 24))),
    "otpauth": placed(
        "otpauth://totp/ACME:jo@acme.org?secret={}&issuer=ACME", of(ascii_uppercase + "234567", 32)
    ),
    "totp": placed("2FA key: {}", of(ascii_uppercase + "234567", 32)),
    "netrc": placed("machine api.example.org login jo password {}", of(ALNUM, 12)),
    "npmrc": placed("//registry.npmjs.org/:_authToken={}", uuid_of),
    "docker auth": placed(
        '"auths": {"r": {"auth": "{}"}}', lambda r: b64(f"jo:{of(ALNUM, 16)(r)}")
    ),
    "azure storage": placed("AccountName=x;AccountKey={}==;Suffix=y", of(BASE64, 86)),
    "azure sas": placed("https://x.blob.core.windows.net/c?sv=2022&sig={}", of(ALNUM, 44)),
    "sql": placed("CREATE USER jo IDENTIFIED BY '{}';", password),
    "mysqldump": placed("mysqldump -u root -p{} shop > shop.sql", of(ALNUM, 12)),
    "mariadb": placed("mariadb -h db -P3306 -p{}", password),
    "pgpass": placed("db.example.org:5432:shop:admin:{}", of(ALNUM, 14)),
    "pgpass any": placed("*:*:*:admin:{}", of(ALNUM, 14)),
    "pass phrase": placed("my passphrase is {}", _phrase),
    "pass phrase colon": placed("Passphrase: {}.", _phrase),
    "pin": placed("the pin is {}", lambda r: str(r.randrange(1000, 9999))),
}

ASSIGNED: dict[str, str] = {
    "env": "DB_PASSWORD={}",
    "env export": "export API_TOKEN={}",
    "env quoted": 'SECRET_KEY="{}"',
    "yaml": "  password: {}\n  port: 5432",
    "yaml quoted": "api_key: '{}'",
    "json": '{"password": "{}", "port": 5432}',
    "json token": '{"access_token":"{}","expires_in":3600}',
    "json escaped": '"{\\"client_secret\\": \\"{}\\"}"',
    "toml": '[db]\npassword = "{}"',
    "python": 'password = "{}"  # fix later',
    "python call": "connect(host, password='{}')",
    "python typed": 'secret_key: str = "{}"',
    "js": "const apiKey = '{}';",
    "camel": "dbPassword: '{}',",
    "ini": "[smtp]\nsmtp_pass={}",
    "aws": "aws_secret_access_key = {}",
    "xml": "<password>{}</password>",
    "url query": "https://x.org/cb?token={}&state=1",
    "header": "X-Api-Key: {}",
    "flag": "mysql --password {} -h db",
    "flag equals": "tool --token={} run",
    "prose": "my password is {}.",
    "prose for": "the password for the staging db is {}",
    "prose changed": "I changed the password to {}, please note it",
    "prose colon": "Password: {}",
    "prose quoted": 'the passphrase is "{}"',
    "markdown": "- **Password:** {}",
    "table": "| name | value |\n|---|---|\n| password | {} |\n",
    "table bold": "| **password** | `{}` |",
    "pwd": "wifi pwd: {}",
    "zh": "密码：{}",
    "zh is": "数据库密码是{}，别忘了",
    "zh change": "我把密码改成了{}",
    "zh word": "登录口令: {}",
    "zh key": "API密钥：{}",
    "zh token": "访问令牌是 {}",
    "zh beside": "wifi密码 {}",
    "zh traditional": "密碼為 {}",
    "ruby": ":password => '{}'",
    "heredoc": "spring.datasource.password={}",
}


def assigned_value(rng: Random, name: str) -> str:
    """What would stand there: a password where one is asked for, else something random."""
    is_password = any(
        word in ASSIGNED[name].lower() for word in ("pass", "pwd", "密码", "密碼", "口令")
    )
    if is_password:
        return rng.choice([password, of(ALNUM, 12), of(ALNUM + "!@#%*", 16)])(rng).rstrip("!.")
    return rng.choice([of(ALNUM, 32), of(HEX, 40), of(BASE64, 40), of(URL_SAFE, 43), uuid_of])(rng)


CONTEXTS: tuple[str, ...] = (
    "{}",
    "Here is the key: {}",
    "use {} for now, I will rotate it.",
    "`{}`",
    "```\n{}\n```",
    '"{}"',
    "'{}'",
    "({})",
    "[{}]",
    "<{}>",
    "key={}",
    "TOKEN={}\nOTHER=1",
    "export KEY='{}'",
    'api_key: "{}"',
    '{"key":"{}"}',
    '{\\"key\\":\\"{}\\"}',
    "line one\\n{}\\nline three",
    "Authorization: token {}",
    "curl -H 'X-Key: {}' https://x.org",
    "https://x.org/?k={}&x=1",
    "密钥是{}，请保管好。",
    "令牌：{}。",
    "我的 key 是「{}」",
    "他说“{}”可以用",
    "key：{}；下一个",
    "{},{}",
    "a\t{}\tb",
    "\r\n{}\r\n",
    "> {}",
    "- {}",
    "| key | {} |",
    "<b>{}</b>",
    "echo {} | pbcopy",
    "ERROR 401 for {}: expired",
    "key is {}!",
    "{}.",
    "{};",
    "see {}?",
    "x = f({})",
    "# {}",
    "// {}",
    "🔑{}🔑",
    "$ TOKEN={} python run.py",
    "{}\nthe end",
    "prefix:{}",
    "@{}",
    "KEY_{}",
    "~{}~",
    "*{}*",
    "**{}**",
)


def _sentence(rng: Random) -> str:
    words = "we moved the review to Thursday because Anna is away and the second option needs room"
    return " ".join(rng.choices(words.split(), k=rng.randrange(5, 30))) + "."


def _image(rng: Random) -> str:
    return "data:image/png;base64,iVBORw0KGgo" + of(BASE64, rng.randrange(200, 2000))(rng)


ALIKE: dict[str, Make] = {
    "git hash": lambda r: f"commit {of(HEX, 40)(r)}\nMerge: {of(HEX, 7)(r)} {of(HEX, 7)(r)}",
    "sha256": lambda r: f"{of(HEX, 64)(r)}  dist/package-1.0.tar.gz",
    "digest": lambda r: f"image@sha256:{of(HEX, 64)(r)}",
    "md5 name": lambda r: f"/cache/{of(HEX, 32)(r)}.json",
    "uuid": lambda r: f"request {uuid_of(r)} took 12 ms",
    "session id": lambda r: f'"session_id": "{uuid_of(r)}", "trace_id": "{of(HEX, 32)(r)}"',
    "tool call": lambda r: f'"tool_call_id": "call_{of(ALNUM, 24)(r)}"',
    "toolu": lambda r: f'"id": "toolu_{of(ALNUM, 24)(r)}", "type": "tool_use"',
    "our id": lambda r: (
        f'- W @Anna: Tea. <!-- hf {{"id":"{of(HEX, 26)(r)}",'
        f'"sources":["s1#{of(ALNUM, 26)(r)}"]}} -->'
    ),
    "ulid": lambda r: f"entry 01{of('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 24)(r)}",
    "integrity": lambda r: f'"integrity": "sha512-{of(BASE64, 86)(r)}=="',
    "pip hash": lambda r: f"requests==2.31.0 --hash=sha256:{of(HEX, 64)(r)}",
    "cargo": lambda r: f'checksum = "{of(HEX, 64)(r)}"',
    "image": _image,
    "public key": lambda r: f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA{of(BASE64, 43)(r)} jo@host",
    "certificate": lambda r: (
        f"-----BEGIN CERTIFICATE-----\n{of(BASE64, 64)(r)}\n-----END CERTIFICATE-----"
    ),
    "pem talk": lambda r: (
        "the file starts with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----"
    ),
    "reset": lambda r: "We sent a password reset email; the token expires in 30 minutes.",
    "tokens": lambda r: f"token count {r.randrange(9999)}, max_tokens: {r.randrange(9999)}",
    "usage": lambda r: f'"usage": {{"input_tokens": {r.randrange(10**5)}, "output_tokens": 12}}',
    "env read": lambda r: 'password = os.environ["DB_PASSWORD"]',
    "env get": lambda r: "api_key=os.getenv('OPENAI_API_KEY')",
    "process env": lambda r: "const token = process.env.GITHUB_TOKEN2;",
    "none": lambda r: "def connect(user, password=None, token: str | None = None):",
    "typed": lambda r: "password: str\n    secret: SecretStr\n    token: Optional[str] = None",
    "field": lambda r: "self.password = password\nuser.token = form.token.data",
    "call": lambda r: "password = getpass.getpass('Password: ')\ntoken = make_token(user2)",
    "your key": lambda r: 'OPENAI_API_KEY="<your-key>"\ntoken: your-token-here-123456',
    "xs": lambda r: "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx ghp_xxxxxxxxxxxxxxxx password: ********",
    "var": lambda r: (
        "password: ${DB_PASSWORD}\ntoken: $(cat /run/secrets/token)\nkey: {{ api_key }}"
    ),
    "template": lambda r: (
        "postgres://user:password@localhost/db and https://{user}:{password}@host/"
    ),
    "words": lambda r: (
        "task-list desk-top risk-averse ask-me-anything disk-usage-of-the-old-server-1"
    ),
    "slug": lambda r: "https://x.org/blog/how-to-reset-a-password-in-django-4-2-with-tokens",
    "schema": lambda r: '"password": {"type": "string", "description": "The password of the user"}',
    "described": lambda r: '"password": "The password to use", "secret": "Name of the secret"',
    "i18n": lambda r: '"password": "密码", "passwordLabel": "Passwort", "token": "令牌"',
    "zh prose": lambda r: "密码长度至少8位，忘记密码请点击重置；口令是大小写敏感的，密码是必填项。",
    "zh token": lambda r: f"令牌数是{r.randrange(9999)}，密钥对已生成，私钥请保存在本地。",
    "zh talk": lambda r: "我们讨论了密码学，密码是什么并不重要，令牌桶算法很有意思。",
    "prose": _sentence,
    "is required": lambda r: (
        "The password is required. Your password was changed. Password: required"
    ),
    "policy": lambda r: "password must be at least 12 characters; the secret is to practise",
    "page token": lambda r: (
        f'"nextPageToken": "{of(ALNUM, 40)(r)}", "page_token={of(ALNUM, 30)(r)}"'
    ),
    "special": lambda r: '"eos_token": "<|im_end|>", "pad_token": "[PAD]", "bos_token_id": 128000',
    "number": lambda r: (
        f"order {r.randrange(10**15, 10**16)}, tracking {r.randrange(10**11, 10**12)}"
    ),
    "phone": lambda r: f"+1 415 555 {r.randrange(1000, 9999)}, 138 0013 {r.randrange(1000, 9999)}",
    "time": lambda r: f"2026-03-14T09:26:53.{r.randrange(10**6):06d}Z id=1700000000000",
    "path": lambda r: "secret: /run/secrets/db_password\ntoken_file = ~/.config/tool/token.json",
    "traceback": lambda r: 'File "/usr/lib/python3.11/site-packages/requests/auth.py", line 89',
    "css": lambda r: "sk-button-primary--large-with-icon-and-label-and-shadow",
    "seed talk": lambda r: (
        "Never share your seed phrase with anyone, and keep it in a safe place at home."
    ),
    "random seed": lambda r: f"np.random.seed({r.randrange(9999)})  # seed = {r.randrange(9999)}",
    "math": lambda r: (
        "the key idea: attention(Q, K, V) = softmax(QK^T / sqrt(d)) V, key=lambda x: x[1]"
    ),
    "basic": lambda r: "Basic authentication, basic understanding, Bearer authentication scheme",
    "marks": lambda r: "[secret: github token ghp_…] and password: [secret: password]",
    "minified": lambda r: (
        f"!function(e,t){{var n={of(ALNUM, 12)(r)};e.exports=t(n)}}(this,function(){{}})"
    ),
    "mysql port": lambda r: "mysql -h db -P3306 -u root -p shop; mysqldump --port=3307 -p",
    "grep": lambda r: f"src/app.py:{r.randrange(99)}:def run(a: int, b: str) -> None: at 10:54:33",
    "cells": lambda r: (
        "| password | type | since |\n|---|---|---|\n| password | VARCHAR(255) | 2024-01-01 |\n"
        "| token | 12,345 | 0.034 |\n| password | string | required |\n| secret | ****** |"
    ),
    "phrase talk": lambda r: (
        "passphrase: ask Peter about it. The passphrase is stored in the vault. A passphrase is "
        "longer than any password, and the passphrase is required for every deployment."
    ),
    "cards": lambda r: "4111 1111 1111 1112 and 1234 5678 9012 3456",
}
