"""For each rule of secret_rules.toml: shapes that it finds, and near misses that nothing finds.

{w36} stands for 36 letters and digits, {h} for hexadecimal digits, {d} for digits, {l} for small letters and digits, {u} for
capital letters and digits. So nothing here looks like a key to a scanner of repositories.
"""

from __future__ import annotations

import random
import re
import string
from typing import Final, NamedTuple

ALPHABETS: Final = {
    "w": string.ascii_letters + string.digits,
    "h": "0123456789abcdef",
    "d": string.digits,
    "l": string.ascii_lowercase + string.digits,
    "u": string.ascii_uppercase + string.digits,
}


class Samples(NamedTuple):
    found: tuple[str, ...]
    missed: tuple[str, ...]


def _of(found: str, missed: str) -> Samples:
    """Shapes without spaces, several on a line."""
    return Samples(tuple(found.split()), tuple(missed.split()))


SAMPLES: Final = {
    "private_key": Samples(
        ("-----BEGIN RSA PRIVATE KEY-----\n{w64}\n-----END RSA PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n{w64}"),
        ("-----BEGIN PUBLIC KEY-----\n{w64}\n-----END PUBLIC KEY-----", "----BEGIN PRIVATE KEY-----", "-----BEGIN CERTIFICATE-----"),
    ),
    "password_in_url": _of("://ann:{w12}@db.test ://:{w12}@cache.test", "://ann@db.test ://db.test:5432/{w12} ://ann:${w12}@db.test"),
    "web_token": _of("eyJ{w20}.eyJ{w40}.{w43}", "eyJ{w20}.{w40}.{w43} eyJ{w20}.eyJ{w40} a-eyJ{w20}.eyJ{w40}.{w43}"),
    "anthropic_key": _of("sk-ant-api03-{w95}", "sk-ant-{l8} ant-api03-{w40}"),
    "openai_key": _of("sk-proj-{w40}7 sk-{w40}7", "sk-{w12} task-{w40}7 sk-learn-and-other-words-only"),
    "bedrock_key": _of("ABSK{w110} bedrock-api-key-{w60}", "ABSK{w40} bedrock-api-key-{w20} bedrock-api-key-names"),
    "huggingface_token": _of("hf_{w34} api_org_{w34}", "hf_{w20} half_{w34} hf_{w34}_name"),
    "model_api_key": _of("gsk_{w52} xai-{w80} pplx-{w48} r8_{w37}", "gsk_{w20} r8_{w10} r9_{w37} max-ai-{l8}"),
    "aws_access_key": _of("AKIA{u16} ASIA{u16} ABIA{u16} ACCA{u16}", "AKIA{u15} AKIA{u17} AKIA{l16} XAKIA{u16}"),
    "alibaba_key": _of("LTAI{w20}", "LTAI{w19} LTAI{w21} ltai{w20}"),
    "azure_key": _of(
        "AccountKey={w86}== SharedAccessKey={w43}= ?sig={w43}%3D &sig={w43}%3D", "?sig={w20} ?sign={w43}"
    ),
    "azure_client_secret": _of("{w3}8Q~{w34} {w3}8Q~{w31}", "{w3}8Q~{w20} {w3}xQ~{w34} Q~{w34}"),
    "cloudflare_key": _of("v1.0-{h24}-{h146}", "v1.0-{h24}-{h40} v1.1-{h24}-{h146} v1.0-{h24}"),
    "databricks_token": _of("dapi{h32} dapi{h32}-2", "dapi{h20} fdapi{h32} DAPI{h32}"),
    "digitalocean_token": _of("doo_v1_{h64} dop_v1_{h64} dor_v1_{h64}", "dop_v1_{h20} dop_v2_{h64} dos_v1_{h64}"),
    "fly_token": _of("fo1_{w43} fm1a_{w120} fm1r_{w120}== fm2_{w120}", "fo1_{w20} fm1x_{w120} fm2_{w40} ufo1_{w43}"),
    "google_api_key": _of("AIza{w35}", "AIza{w34} AIza{w36} AIZA{w35}"),
    "google_oauth": _of("GOCSPX-{w28} ya29.{w60}", "GOCSPX-{w10} GOCSP-{w28} ya29.{w10} ya30.{w60}"),
    "heroku_key": _of("HRKU-AA{w58}", "HRKU-AA{w30} HRKU-{w50} XHRKU-AA{w58}"),
    "openshift_token": _of("sha256~{w43}", "sha256~{w42} sha256:{h64} sha256-{w43}"),
    "planetscale_token": _of("pscale_tkn_{w43} pscale_oauth_{w43} pscale_pw_{w43}", "pscale_tkn_{w20} pscale_api_{w43} upscale_pw_{w43}"),
    "pulumi_token": _of("pul-{h40}", "pul-{h39} pul-{h41} pull-{h40}"),
    "scalingo_token": _of("tk-us-{w48}", "tk-us-{w20} tk-eu-{w48} gtk-us-{w48}"),
    "terraform_token": _of("{w14}.atlasv1.{w67}", "{w13}.atlasv1.{w67} {w14}.atlasv1.{w30} {w14}.atlasv2.{w67}"),
    "vault_token": _of("hvs.{w95} hvb.{w140}", "hvs.{w12} hvx.{w95} archvs.{w95}"),
    "artifactory_key": _of("AKCp{w69} cmVmd{w59}", "AKCp{w40} AKCp{w70} cmVmd{w58} xcmVmd{w59}"),
    "atlassian_token": _of("ATATT3{w186} ATCTT3{w186} ATBB{w24}0123ABCD", "ATATT3{w20} ATXTT3{w186} ATBB{w12}"),
    "clojars_token": _of("CLOJARS_{l60}", "CLOJARS_{l40} CLOJARS_{l61} clojars_{l60}"),
    "docker_token": _of("dckr_pat_{w27} dckr_oat_{w27}", "dckr_pat_{w10} dckr_img_{w27} docker_pat_{w27}"),
    "github_token": _of(
        "ghp_{w36} gho_{w36} ghu_{w36} ghs_{w36} ghr_{w36} github_pat_{w82}",
        "ghp_{w20} ghx_{w36} weighp_{w36} github_pat_{w10} ghp-{w36}",
    ),
    "gitlab_token": _of(
        "glpat-{w20} glptt-{h40} gldt-{w20} glrt-{w20} glcbt-64_{w20} glsoat-{w20} glagent-{w50} glffct-{w20} glft-{w20} glimt-{w25} "
        "gloas-{w64} GR1348941{w20}",
        "glpat-{w12} glxyz-{w20} uglpat-{w20} GR1348942{w20}",
    ),
    "harness_key": _of("pat.{w22}.{w24}.{w20} sat.{w22}.{w24}.{w20}", "pat.{w22}.{w24}.{w19} pat.{w22}.{w24} cat.{w22}.{w24}.{w20}"),
    "npm_token": _of("npm_{w36}", "npm_{w35} npm_{w37} pnpm_{w36}"),
    "prefect_token": _of("pnu_{w36}", "pnu_{w35} pnu_{w37} gpnu_{w36}"),
    "pypi_token": _of("pypi-AgEIcHlwaS5vcmc{w70}", "pypi-{w20} testpypi_{w60} pypi.{w60}"),
    "rubygems_token": _of("rubygems_{h48}", "rubygems_{h40} rubygem_{h48} myrubygems_{h48}"),
    "sourcegraph_token": _of("sgp_{h40} sgp_{h16}_{h40} sgp_local_{h40}", "sgp_{h39} sgp_{h15}_{h40} sgp_remote_{h40}"),
    "age_key": _of("AGE-SECRET-KEY-1{u58}", "AGE-SECRET-KEY-1{u20} AGE-PUBLIC-KEY-1{u58} age1{l58}"),
    "doppler_token": _of(
        "dp.pt.{w43} dp.st.{w43} dp.st.dev_main.{w43} dp.ct.{w43} dp.sa.{w43} dp.scim.{w43} dp.audit.{w43}",
        "dp.pt.{w20} dp.xx.{w43} udp.pt.{w43} dp.pt.{w50}",
    ),
    "infracost_key": _of("ico-{w32}", "ico-{w31} ico-{w33} falico-{w32}"),
    "onepassword_token": _of("ops_eyJ{w260} A3-{u6}-{u11}-{u5}-{u5}-{u5} A3-{u6}-{u6}-{u5}-{u5}-{u5}-{u5}", "ops_eyJ{w100} A3-{u6}-{u11}-{u5} A4-{u6}-{u11}-{u5}-{u5}-{u5}"),
    "dynatrace_token": _of("dt0c01.{u24}.{u64}", "dt0c01.{u24}.{u40} dt0c02.{u24}.{u64} dt0c01.{u24}"),
    "grafana_token": _of("glsa_{w32}_{h8} glc_{w60} eyJrIjoi{w80}", "glsa_{w32} glc_{w20} eyJrIjoi{w30} uglsa_{w32}_{h8}"),
    "sentry_token": _of("sntrys_{w80} sntryu_{h64}", "sntrys_{w20} sntryu_{h40} sntryx_{h64}"),
    "adobe_secret": _of("p8e-{w32}", "p8e-{w31} p8e-{w33} xp8e-{w32}"),
    "airtable_token": _of("pat{w14}.{h64}", "pat{w13}.{h64} pat{w14}.{h63} pat{w14}.{h65} path{w14}.{h64}"),
    "figma_token": _of("figd_{w40}", "figd_{w20} figma_{w40} config_figd_{w40}"),
    "linear_key": _of("lin_api_{w40}", "lin_api_{w20} lin_apis_{w40} berlin_api_{w40}"),
    "notion_token": _of("ntn_{d11}{w35} secret_{w43}", "ntn_{d11}{w34} ntn_a{w45} secret_{w42} secret_{w44} my_secret_{w43}"),
    "postman_key": _of("PMAK-{h24}-{h34}", "PMAK-{h24} PMAK-{h20}-{h34} XPMAK-{h24}-{h34}"),
    "readme_token": _of("rdme_{l70}", "rdme_{l69} rdme_{l71} readme_{l70}"),
    "easypost_key": _of("EZAK{w54} EZTK{w54}", "EZAK{w53} EZAK{w55} EZXK{w54}"),
    "shippo_token": _of("shippo_live_{h40} shippo_test_{h40}", "shippo_live_{h39} shippo_prod_{h40} shippo_{h40}"),
    "shopify_token": _of("shpat_{h32} shpca_{h32} shppa_{h32} shpss_{h32}", "shpat_{h20} shpxx_{h32} washpat_{h32}"),
    "square_token": _of("sq0atp-{w22} sq0csp-{w43} EAAA{w60}", "sq0atp-{w10} sq0csp-{w42} EAAA{w59} EAAA{w61} sq0xyz-{w43}"),
    "stripe_key": _of(
        "sk_live_{w24} sk_test_{w24} sk_prod_{w24} rk_live_{w24} rk_test_{w24} rk_prod_{w24} pk_live_{w24} pk_test_{w24} whsec_{w32}",
        "sk_live_{w8} sk_dev_{w24} risk_live_{w24} whsec_{w12}",
    ),
    "facebook_token": _of("EAAM{w120} EAAC{w120}", "EAAM{w60} EAAX{w120} XEAAC{w120}"),
    "mail_key": _of("key-{h32}", "key-{h31} key-{h33} monkey-{h32}"),
    "sendgrid_key": _of("SG.{w22}.{w43}", "SG.{w22} SG.{w10}.{w43} MSG.{w22}.{w43}"),
    "sendinblue_key": _of("xkeysib-{h64}-{w16}", "xkeysib-{h64} xkeysib-{h63}-{w16} xkeysib-{h64}-{w17}"),
    "slack_token": _of(
        "xoxb-{d12}-{d12}-{w24} xoxp-{d12}-{w24} xoxe.xoxb-1-{w160} xoxe-1-{w146} xapp-1-{u11}-{d13}-{h64}",
        "xoxb-{w5} xoxz-{d12}-{w24} foxoxb-{d12}-{w24} xapp-{w20} xoxe.{w40}",
    ),
    "slack_webhook": _of("hooks.slack.com/services/T{u8}/B{u8}/{w24}", "hooks.slack.com/services/T{u8}/{w24} hooks.slack.com/services hooks.slack.org/services/T{u8}/B{u8}/{w24}"),
    "teams_webhook": _of(
        "https://a.webhook.office.com/webhookb2/{h8}-{h4}-{h4}-{h4}-{h12}@{h8}-{h4}-{h4}-{h4}-{h12}/IncomingWebhook/{h32}/{h8}-{h4}-{h4}-{h4}-{h12}",
        "https://a.webhook.office.com/webhookb2/{h8}-{h4}-{h4}-{h4}-{h12}/IncomingWebhook/{h32} https://a.webhook.office.com/webhookb2/",
    ),
    "telegram_token": _of("{d10}:AA{w33}", "{d7}x:AA{w33} {d10}:AA{w32} {d10}:AB{w33}"),
    "twilio_key": _of("SK{h32}", "SK{h31} SK{h33} TASK{h32} SK{u32}"),
    "webhook": _of("/api/webhooks/{d18}/{w68}", "/api/webhooks/{d18} /api/webhooks/{d5}/{w68} /api/webhooks/{d18}/{w12}"),
}  # fmt: skip


def filled(shape: str, draw: random.Random) -> str:
    """The shape with characters that are drawn, of which one is a digit and no group says a word."""

    def group(found: re.Match[str]) -> str:
        alphabet, length = ALPHABETS[found[1]], int(found[2])
        return "".join(draw.choices(alphabet, k=length - 1)) + draw.choice("0246")

    return re.sub(r"\{([whdlu])(\d+)\}", group, shape)
