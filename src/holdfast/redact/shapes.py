"""Credentials that name themselves: what their issuers made them start with.

One row per issuer: what it is called, the public start that is kept, and what must follow.
The start tells nobody anything; everything after it goes. A new issuer is a new row, and
``tests/foundation/redact_samples.py`` must be able to make one.

Rows are ordered: of several that fit at one place the first wins.
"""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["SHAPES", "Shape"]


class Shape(NamedTuple):
    """``start`` and ``rest`` are expressions; ``start`` begins with two plain characters."""

    kind: str
    start: str
    rest: str


_W: Final = "[A-Za-z0-9_-]"
_AN: Final = "[A-Za-z0-9]"
_HEX: Final = "[0-9a-f]"
_B64: Final = "[A-Za-z0-9+/=_-]"
_UUID: Final = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"

# Unlike the others a web token needs something behind its unbounded first part: where it may
# start decides whether looking for it is linear, so not after a hyphen or an underscore.
_JWT: Final = "(?<![A-Za-z0-9_-]eyJ)"

_MODELS: Final = (
    Shape("anthropic key", r"sk-ant-(?:[a-z]{2,8}\d\d-)?", f"{_W}{{20,}}"),
    *(
        Shape("openai key", f"sk-{owner}-", f"{_W}{{20,}}")
        for owner in ("proj", "svcacct", "admin", "None", "service")
    ),
    Shape("openrouter key", "sk-or-(?:v1-)?", f"{_W}{{24,}}"),
    Shape("langfuse key", "sk-lf-", f"{_W}{{24,}}"),
    Shape("litellm key", "sk-litellm-", f"{_W}{{16,}}"),
    Shape("api key", "sk-", r"(?=[A-Za-z]{0,64}+[0-9])[A-Za-z0-9]{20,}"),
    Shape("elevenlabs key", "sk_(?!live|test)", f"{_HEX}{{40,}}"),
    Shape("hugging face token", "hf_", "[A-Za-z0-9]{30,}"),
    Shape("hugging face token", "api_org_", "[A-Za-z0-9]{30,}"),
    Shape("langsmith key", "lsv2_(?:pt|sk)_", f"{_W}{{32,}}"),
    Shape("replicate token", "r8_", f"{_AN}{{32,}}"),
    Shape("groq key", "gsk_", f"{_AN}{{40,}}"),
    Shape("xai key", "xai-", f"{_AN}{{40,}}"),
    Shape("perplexity key", "pplx-", f"{_AN}{{32,}}"),
    Shape("fireworks key", "fw_", f"(?=[A-Za-z]{{0,40}}+[0-9]){_AN}{{22,}}"),
    Shape("tavily key", "tvly-(?:dev-|prod-)?", f"{_W}{{24,}}"),
    Shape("nvidia key", "nvapi-", f"{_W}{{40,}}"),
    Shape(
        "voyage key", "pa-", f"(?=[A-Za-z_-]{{0,43}}+[0-9])(?=[0-9a-z_-]{{0,43}}+[A-Z]){_W}{{43}}"
    ),
    Shape("pinecone key", "pcsk_", f"{_W}{{40,}}"),
    Shape("firecrawl key", "fc-", f"{_HEX}{{32}}"),
    Shape("jina key", "jina_", f"{_W}{{40,}}"),
    Shape("e2b key", "e2b_", f"{_HEX}{{40}}"),
    Shape("langgraph key", "lsv2_", f"{_W}{{40,}}"),
    Shape("cerebras key", "csk-", f"{_AN}{{32,}}"),
)

_CLOUDS: Final = (
    *(
        Shape("aws access key", start, "[A-Z0-9]{16}(?![A-Za-z0-9])")
        for start in ("AKIA", "ASIA", "ABIA", "ACCA")
    ),
    Shape("aws bedrock key", "ABSK", "[A-Za-z0-9+/=]{80,}"),
    Shape("aws bedrock key", "bedrock-api-key-", f"{_B64}{{24,}}"),
    Shape("amazon mws token", r"amzn\.mws\.", f"{_UUID}"),
    Shape("google api key", "AIza", f"{_W}{{35}}"),
    Shape("google oauth secret", "GOCSPX-", f"{_W}{{24,}}"),
    Shape("google oauth token", r"ya29\.", r"[A-Za-z0-9_.-]{20,}"),
    Shape("alibaba access key", "LTAI", f"(?=[A-Za-z]{{0,24}}+[0-9]){_AN}{{12,30}}(?![A-Za-z0-9])"),
    Shape("tencent secret id", "AKID", f"{_AN}{{32}}(?![A-Za-z0-9])"),
    Shape("volcengine access key", "AKLT", f"{_AN}{{30,}}"),
    Shape("baidu key", "bce-v3/ALTAK-", r"[A-Za-z0-9/_-]{30,}"),
    Shape("cloudflare token", r"v1\.0-", f"{_HEX}{{24}}-{_HEX}{{100,}}"),
    Shape("cloudflare token", "cf(?:k|ut|at)_", f"{_AN}{{40,}}"),
    Shape("digitalocean token", "do[oprt]_v1_", f"{_HEX}{{64}}"),
    Shape("heroku key", "HRKU-", f"{_W}{{36,}}"),
    Shape("databricks token", "dapi", f"{_HEX}{{32}}(?![0-9a-zA-Z])"),
    Shape("vault token", r"hv[sbr]\.", f"{_W}{{24,}}"),
    Shape("doppler token", r"dp\.(?:pt|st|ct|sa|scim|audit)\.", r"[A-Za-z0-9_.-]{40,}"),
    Shape("pulumi token", "pul-", f"{_HEX}{{40}}"),
    Shape("planetscale secret", "pscale_(?:tkn|pw|oauth)_", r"[A-Za-z0-9_.=-]{32,}"),
    Shape("supabase key", "sbp_", f"{_HEX}{{40}}"),
    Shape("supabase key", "sb_secret_", f"{_W}{{20,}}"),
    Shape("vercel token", "vc[pioark]_", f"{_AN}{{24,}}"),
    Shape("netlify token", "nfp_", f"{_AN}{{36,}}"),
    Shape("fly token", "FlyV1 fm[12][ar]?_", r"[A-Za-z0-9+/=,_]{40,}"),
    Shape("fly token", "fo1_", f"{_W}{{40,}}"),
    Shape("render key", "rnd_", f"{_AN}{{28,}}"),
    Shape("tailscale key", "tskey-(?:auth|api|client|scim|webhook)-", f"{_W}{{16,}}"),
    Shape("scaleway key", "SCW", r"(?=[A-Z]{0,17}+[0-9])[A-Z0-9]{17}(?![A-Za-z0-9])"),
    Shape("yandex key", "AQVN", f"{_W}{{35,}}"),
    Shape("linode token", "lin_api_", f"{_AN}{{32,}}"),
    Shape("oracle mount token", r"ocid1\.credential\.", r"[a-z0-9.]{40,}"),
)

_CODE: Final = (
    Shape("github token", "gh[pousr]_", "[A-Za-z0-9_]{36,}"),
    Shape("github token", "github_pat_", "[A-Za-z0-9_]{22,}"),
    Shape(
        "gitlab token",
        "gl(?:pat|oas|dt|rt|cbt|ptt|ft|imt|agent|soat|ffct|wt)-",
        r"[A-Za-z0-9_.-]{20,}",
    ),
    Shape("gitlab token", "GR1348941", f"{_W}{{20,}}"),
    Shape("bitbucket token", "ATBB", f"{_AN}{{28,}}"),
    Shape("atlassian token", "AT(?:ATT|CTT)3x", r"[A-Za-z0-9_=-]{40,}"),
    Shape("npm token", "npm_", f"{_AN}{{36,}}"),
    Shape("pypi token", "pypi-AgE[A-Za-z]", f"{_W}{{40,}}"),
    Shape("rubygems key", "rubygems_", f"{_HEX}{{40,}}"),
    Shape("docker token", "dckr_[po]at_", f"{_W}{{24,}}"),
    Shape("crates.io token", "cio", f"(?=[A-Za-z]{{0,32}}+[0-9]){_AN}{{32}}(?![A-Za-z0-9])"),
    Shape("nuget key", "oy2", r"(?=[a-z]{0,43}+[0-9])[a-z0-9]{43}(?![A-Za-z0-9])"),
    Shape("artifactory key", "AKCp", f"{_AN}{{60,}}"),
    Shape("clojars token", "CLOJARS_", "[a-z0-9]{50,}"),
    Shape("buildkite token", "bk(?:ua|aj|ct)_", f"{_HEX}{{40}}"),
    Shape("circleci token", "CCI(?:PAT|PRJ)_", "[A-Za-z0-9_]{30,}"),
    Shape("sonar token", "sq[pua]_", f"{_HEX}{{40}}"),
    Shape("sentry token", "sntry[su]_", r"[A-Za-z0-9_=+/-]{40,}"),
    Shape("grafana token", "gl(?:c|sa)_", r"[A-Za-z0-9_=+/-]{32,}"),
    Shape("new relic key", "NR(?:AK|JS|II|AA|IQ|RA)-", f"{_W}{{20,}}"),
    Shape("postman key", "PMAK-", f"{_HEX}{{24}}-{_HEX}{{30,}}"),
    Shape("prefect token", "pn[ub]_", f"{_AN}{{36}}"),
    Shape("terraform token", r"ATLASV1\.", f"{_W}{{60,}}"),
    Shape("infracost key", "ico-", f"{_AN}{{32}}"),
    Shape("readme key", "rdme_", "[a-z0-9]{60,}"),
    Shape("snyk token", "snyk_(?:uat|sat)[._]", r"[A-Za-z0-9_.-]{30,}"),
)

_APPS: Final = (
    Shape("slack token", r"xox[abeoprs]-", r"[A-Za-z0-9-]{12,}"),
    Shape("slack token", r"xoxe\.xox[bp]-", r"[A-Za-z0-9-]{20,}"),
    Shape("slack token", r"xapp-\d-", r"[A-Za-z0-9-]{20,}"),
    Shape("stripe key", "sk_(?:live|test|prod)_", f"{_AN}{{10,}}"),
    Shape("stripe key", "rk_(?:live|test|prod)_", f"{_AN}{{10,}}"),
    Shape("webhook secret", "whsec_", r"[A-Za-z0-9+/=]{24,}"),
    Shape("square token", "sq0(?:atp|csp|idp)-", f"{_W}{{22,}}"),
    Shape("square token", "EAAA", f"(?=[A-Za-z_-]{{0,80}}+[0-9]){_W}{{60,}}"),
    Shape("facebook token", "EAA", f"(?=[A-Za-z]{{0,80}}+[0-9]){_AN}{{80,}}"),
    Shape(
        "braintree token", r"access_token\$(?:production|sandbox)\$", r"[0-9a-z]{16}\$[0-9a-f]{32}"
    ),
    Shape("plaid token", "access-(?:sandbox|development|production)-", f"{_UUID}"),
    Shape("shopify token", "shp(?:at|ca|pa|ss|tka)_", r"[a-fA-F0-9]{32,}"),
    Shape("twilio key", "SK", f"{_HEX}{{32}}(?![0-9a-zA-Z])"),
    Shape("sendgrid key", r"SG\.", f"{_W}{{16,32}}\\.{_W}{{32,}}"),
    Shape("brevo key", "xkeysib-", f"{_W}{{40,}}"),
    Shape("brevo key", "xsmtpsib-", f"{_W}{{40,}}"),
    Shape("mailgun key", "key-", f"{_HEX}{{32}}(?![0-9a-zA-Z])"),
    Shape("mailgun key", "pubkey-", f"{_HEX}{{32}}(?![0-9a-zA-Z])"),
    Shape("discord token", r"mfa\.", f"{_W}{{60,}}"),
    Shape("notion token", "ntn_", f"{_AN}{{36,}}"),
    Shape("notion token", "secret_", f"(?=[A-Za-z]{{0,43}}+[0-9]){_AN}{{43}}(?![A-Za-z0-9])"),
    Shape("linear key", "lin_oauth_", f"{_AN}{{32,}}"),
    Shape("figma token", "fig[dour]_", f"{_W}{{36,}}"),
    Shape("airtable token", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    Shape("hubspot token", "pat-(?:na|eu|ap)[0-9]-", f"{_UUID}"),
    Shape("dropbox token", r"sl\.(?:u\.)?", f"{_W}{{100,}}"),
    Shape("contentful token", "CFPAT-", f"{_W}{{40,}}"),
    Shape("typeform token", "tfp_", r"[A-Za-z0-9_.=-]{40,}"),
    Shape("adafruit key", "aio_", f"{_AN}{{28}}(?![A-Za-z0-9])"),
    Shape("frame.io token", "fio-u-", f"{_W}{{60,}}"),
    Shape("shippo token", "shippo_(?:live|test)_", f"{_HEX}{{40}}"),
    Shape("easypost key", "EZ[AT]K", f"{_AN}{{54,}}"),
    Shape("duffel token", "duffel_(?:live|test)_", f"{_W}{{40,}}"),
    Shape("flutterwave key", "FLWSECK(?:_TEST|_LIVE)?-", r"[A-Za-z0-9-]{20,}"),
    Shape("mercado pago token", "APP_USR-", r"[0-9a-zA-Z-]{40,}"),
    Shape("mapbox token", r"sk\.eyJ", rf"{_W}{{20,}}+\.{_W}{{16,}}"),
    Shape("1password token", "ops_eyJ", f"{_B64}{{100,}}"),
    Shape("adobe secret", "p8e-", f"{_W}{{28,}}"),
    Shape("dingtalk secret", "SEC", f"{_HEX}{{64}}(?![0-9a-zA-Z])"),
    Shape(
        "twitter token",
        "AAAAAAAAAAAAAAAAAAAA",
        r"(?=[A-Z]{0,40}+[0-9a-z])[A-Za-z0-9]{2,40}%[A-Za-z0-9%]{30,}",
    ),
)

_KEYS: Final = (
    Shape("age key", "AGE-SECRET-KEY-1", "[0-9A-Z]{50,}"),
    Shape("age key", "AGE-PLUGIN-[A-Z0-9]{1,20}-1", "[0-9A-Z]{20,}"),
    Shape("minisign key", "RWRTY0Iy", r"[A-Za-z0-9+/=]{60,}"),
    *(
        Shape("extended private key", f"{letter}prv", "[1-9A-HJ-NP-Za-km-z]{100,}")
        for letter in "xyztuv"
    ),
    Shape("json web token", "eyJ", rf"{_JWT}{_W}{{6,}}+\.eyJ{_W}{{6,}}+\.{_W}{{6,}}"),
    Shape(
        "encrypted web token",
        "eyJ",
        rf"{_JWT}{_W}{{10,}}+\.{_W}{{0,700}}+\.{_W}{{8,}}+\.{_W}{{20,}}+\.{_W}{{16,}}",
    ),
)

_WEBHOOKS: Final = (
    Shape(
        "slack webhook",
        r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/",
        r"[A-Za-z0-9_/-]{20,}",
    ),
    Shape(
        "discord webhook",
        r"discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/\d{6,24}/",
        f"{_W}{{40,}}",
    ),
    Shape(
        "feishu webhook",
        r"open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/",
        f"{_W}{{16,}}",
    ),
    Shape("wecom webhook", r"qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=", f"{_W}{{16,}}"),
    Shape("dingtalk webhook", r"oapi\.dingtalk\.com/robot/send\?access_token=", f"{_W}{{16,}}"),
    Shape("telegram bot token", r"api\.telegram\.org/(?:file/)?bot\d{6,12}:", f"{_W}{{30,}}"),
)

SHAPES: Final = (*_MODELS, *_CLOUDS, *_CODE, *_APPS, *_KEYS, *_WEBHOOKS)
