"""Forms of secrets that announce themselves, names that announce a value, and a first glance at a whole line."""

from __future__ import annotations

# ruff: noqa: S105 - forms and names of secrets, not secrets
TOKENS = (
    r"gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_\w{20,255}|gl(?:pat|dt|rt|ptt|soat)-[\w-]{20,255}|npm_[A-Za-z0-9]{30,255}"
    r"|pypi-[\w-]{50,250}|xox[a-z]-[A-Za-z0-9-]{10,255}|xapp-[A-Za-z0-9-]{20,255}|hf_[A-Za-z0-9]{30,100}"
    r"|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[\w-]{35}|ya29\.[\w-]{20,2048}|GOCSPX-[\w-]{20,100}"
    r"|(?:sk|rk|pk)_(?:live|test)_\w{10,250}|whsec_\w{20,250}|SG\.[\w-]{16,40}\.[\w-]{30,60}|key-[0-9a-f]{32}"
    r"|dop_v1_[0-9a-f]{64}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}|sq0(?:atp|csp)-[\w-]{22,50}|dapi[0-9a-f]{32}"
    r"|hv[sbr]\.[\w-]{20,250}|lin_api_\w{30,100}|ntn_\w{30,100}|PMAK-[0-9a-f]{24}-[0-9a-f]{34}|dckr_pat_[\w-]{20,100}"
    r"|ATATT3[\w=-]{20,250}|glsa_\w{20,100}|NRAK-[A-Z0-9]{20,40}|dp\.(?:pt|st|ct)\.\w{30,100}|pul-[0-9a-f]{40}"
    r"|AGE-SECRET-KEY-1[0-9A-Z]{50,70}|[0-9]{8,10}:AA[\w-]{32,35}"
)
TOKEN_STARTS = (
    "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glrt- glptt- glsoat- npm_ pypi- xox xapp- hf_ akia asia aiza "
    "ya29. gocspx- _live_ _test_ whsec_ sg. key- dop_v1_ shpat_ shpca_ shppa_ shpss_ sq0 dapi hvs. hvb. hvr. lin_api_ "
    "ntn_ pmak- dckr_pat_ atatt3 glsa_ nrak- dp. pul- age-secret :aa"
)
"""What a text with one of `TOKENS` contains, in lower case."""

SECRET_NAMES = (
    r"api[_-]?key|client[_-]?secret|secret[_-]?(?:access[_-]?)?key|(?:access|auth|refresh|session|id|api)[_-]?token"
    r"|private[_-]?key|account[_-]?key|pass(?:word|wd|phrase)"
)
PHONE_NAMES = r"(?:tele)?phone|telefon|tel|mobile|cell|fax|whatsapp|handy|msisdn"
NUMBER_NAME = r"(?:[ _-]?(?:number|no|nr|num))?"

_EDGE = r"(?:^|[^\w-]|\\[nrtbf]|\\u[0-9a-fA-F]{4})"
_AMONG = r"[ .()/\x{a0}\x{2007}\x{2009}\x{202f}\x{2010}-\x{2015}\x{2212}-]"
_DASHES = r"[\x{2010}-\x{2015}\x{2212}-]"
_STARTS = (
    r"eyJ|[spr]k[-_]|gh[pousr]_|github_pat_|gl(?:pat|dt|rt|ptt|soat|sa)[-_]|npm_|pypi-|xox[a-z]-"
    r"|hf_|AKIA|ASIA|AIza|ya29\.|GOCSPX-|whsec_|SG\.|key-|dop_v1_|shp(?:at|ca|pa|ss)_|sq0|dapi"
    r"|hv[sbr]\.|lin_api_|ntn_|PMAK-|dckr_pat_|ATATT3|NRAK-|dp\.[psc]t\.|pul-|AGE-SECRET-KEY|xapp-"
)
_SECRET_WORDS = r"(?i:bearer |authorization|(?:" + SECRET_NAMES + r")\\?[\"'\s:=])"
_SSN_WORDS = r"(?i:ssn|social[ _]?security)"
HINTS: dict[str, str] = {
    "email": r"(?:@|%40)(?:[\w-]|\\u[0-9a-fA-F]{4})+\.|@\[",
    "iban": _EDGE + r"[A-Za-z]{2}[0-9]{2}(?:[ \x{a0}\x{2007}\x{2009}\x{202f}-]?[A-Za-z0-9]){11,30}(?:$|\W)",
    "card": _EDGE + r"[2-69][0-9]{3}(?:" + _AMONG + r"?[0-9]){9,15}(?:$|\W)",
    "ssn": rf"[0-9]{{3}}{_DASHES}[0-9]{{2}}{_DASHES}[0-9]{{4}}|" + _SSN_WORDS,
    "phone": "|".join(
        (
            r"(?:\+|00)[0-9](?:" + _AMONG + r"{0,3}[0-9]){8}",
            r"[2-9][0-9]{2}\)?" + _AMONG + r"[0-9]{3}" + _AMONG + r"[0-9]{4}|[2-9][0-9]{2}\)[0-9]{3}",
            _EDGE + r"\(?[018](?:" + _AMONG + r"{0,2}[0-9]){8,11}(?:$|\W)|\([0-9]{2}\) ?[0-9]{4}",
            r"(?i:" + PHONE_NAMES + r")[\w .-]{0,8}\\?[\"':=]",
        )
    ),
    "secret": "|".join(
        (
            _EDGE + "(?:" + _STARTS + ")",
            r"[0-9]{8}:AA|hooks\.slack\.com|PRIVATE KEY|://[^\s/]{0,100}:[^\s/]{3,200}@",
            _SECRET_WORDS,
        )
    ),
}
"""For each type an expression for RE2-like engines that finds every text in which a pattern of it could match."""

SUSPECT = "|".join((*HINTS.values(), r"\\u00(?:[0-7]|[aA]0)|\\u20[01]|\\u202[fF]|\\u2212"))
"""An expression for RE2-like engines that finds every line, as it stands in a file, in which a pattern could match:
it knows JSON's escapes, but neither checksums nor what is behind a boundary, so it finds more."""

_WIDE_EDGE = r"(?:^|[^A-Za-z0-9_-]|\\[nrtbf]|\\u[0-9a-fA-F]{4})"
_WIDE_AMONG = r"[ .()/\x{80}-\x{10ffff}-]"
_WIDE_BLANK = r"[ \x{80}-\x{10ffff}-]"
_WIDE_END = r"(?:$|[^A-Za-z0-9_])"
GLANCE = "|".join(
    (
        _WIDE_EDGE
        + "(?:"
        + "|".join(
            (
                rf"[A-Za-z]{{2}}[0-9]{{2}}(?:{_WIDE_BLANK}?[A-Za-z0-9]){{11,30}}{_WIDE_END}",  # IBAN
                rf"[2-69][0-9]{{3}}(?:{_WIDE_AMONG}?[0-9]){{9,15}}{_WIDE_END}",  # card
                rf"\(?[018](?:{_WIDE_AMONG}{{0,2}}[0-9]){{8,11}}{_WIDE_END}",  # phone of some country
                _STARTS,
            )
        )
        + ")",
        r"@|%40|[0-9]{8}:AA|hooks\.slack\.com|PRIVATE KEY",  # an address, and a password in one of the web
        _SECRET_WORDS,
        _SSN_WORDS,
        rf"(?i:{PHONE_NAMES})[A-Za-z0-9_ .\x{{80}}-\x{{10ffff}}-]{{0,8}}\\?[\"':=]",
        rf"(?:\+|00)[0-9](?:{_WIDE_AMONG}{{0,3}}[0-9]){{8}}",
        rf"[0-9]\)?{_WIDE_AMONG}[0-9]{{2,3}}{_WIDE_AMONG}[0-9]{{4}}|\) ?[0-9]{{3}}",  # phone of North America, SSN
        r"\\u(?:00(?:[0-7]|[aA]0)|20[012]|2212)",
    )
)
"""A wider and much quicker form of `SUSPECT`, to be asked first: it finds all texts that `SUSPECT` finds, and few more.

Quick, since an engine without backtracking has few states to tell apart in it: it does not count what may be long, lets
every character beyond ASCII be a letter, a blank and an edge, and looks for the forms that begin at an edge together.
"""
