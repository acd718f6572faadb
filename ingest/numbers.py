"""What tells a number of personal data from an id that looks like it: checksums, issuers, countries, lengths.

Each function takes the text that an expression matched and says how many of its characters are really it; 0 for none.
"""

from __future__ import annotations

import re

_IBAN_LENGTHS = {
    word[:2]: int(word[2:])
    for word in re.findall(
        r"\w+",
        "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 "
        "ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 "
        "LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 "
        "QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30",
    )
}
"""Length by country, as in the SWIFT IBAN registry."""

_ISSUERS = re.compile(
    r"4(?:[0-9]{12}|[0-9]{15}|[0-9]{18})"  # Visa
    r"|(?:5[1-5][0-9]{2}|222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}"  # Mastercard
    r"|3[47][0-9]{13}"  # American Express
    r"|(?:6011|64[4-9][0-9]|65[0-9]{2})[0-9]{12}(?:[0-9]{3})?"  # Discover, RuPay
    r"|3(?:0[0-5]|[689][0-9])[0-9]{11}"  # Diners Club
    r"|35(?:2[89]|[3-8][0-9])[0-9]{12}"  # JCB
    r"|62[0-9]{14,17}"  # UnionPay
    r"|(?:5018|5019|5020|5038|5893|6304|6759|676[1-3])[0-9]{9,15}"  # Maestro, Dankort
    r"|(?:220[0-4]|9792|60[78][0-9]|508[0-9])[0-9]{12}"  # Mir, Troy, RuPay
    r"|(?:506[0-7]|5090|5041|6277|636[23])[0-9]{12}(?:[0-9]{3})?"  # Elo, Verve
    r"|606282[0-9]{10}(?:[0-9]{3})?"  # Hipercard
)
_COUNTRY_CODE = re.compile(
    r"1|7|2(?:[07]|1[1-368]|[2-6][0-9]|9[0179])|3(?:[0-469]|5[0-9]|7[0-8]|8[0-35-79])|4(?:[013-9]|2[013])"
    r"|5(?:[1-8]|0[0-9]|9[0-9])|6(?:[0-6]|7[02-9]|8[0-35-9]|9[0-2])|8(?:[1246]|0[08]|5[0-36]|7[08]|8[0-368])"
    r"|9(?:[0-58]|6[0-8]|7[0-7]|9[2-6])"
)
"""The country codes that the ITU has assigned (E.164)."""

_NATIONAL = {
    code: (int(least), int(most))
    for code, least, most in re.findall(
        r"(\d+):(\d+)-(\d+)",
        "1:10-10 7:10-10 20:8-10 27:9-9 30:10-10 31:9-9 32:8-9 33:9-9 34:9-9 36:8-9 39:8-11 40:9-9 41:9-9 43:8-12 "
        "44:9-10 45:8-8 46:7-9 47:8-8 48:9-9 49:8-12 51:8-9 52:10-10 53:8-8 54:10-11 55:10-11 56:9-9 57:10-10 "
        "58:10-10 60:8-10 61:9-9 62:8-12 63:9-10 64:8-10 65:8-8 66:8-9 81:9-10 82:8-10 84:9-10 86:10-11 90:10-10 "
        "91:10-10 92:9-10 93:9-9 94:9-9 95:7-10 98:10-10 351:9-9 352:6-9 353:8-9 354:7-7 358:6-10 359:8-9 370:8-8 "
        "371:8-8 372:7-8 380:9-9 385:8-9 386:8-8 420:9-9 421:9-9 852:8-8 886:8-9 971:8-9 972:8-9 966:8-9",
    )
}
"""Digits after the country code, where they tell a number's end from whatever number follows it."""

_NO_PHONE = re.compile(r"(?:19|20)[0-9]{2}[-./]?[01][0-9][-./]?[0-3][0-9]|[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9]{13,}")
"""A date, an IP address, a time in milliseconds."""


def digits_of(text: str) -> str:
    """The ASCII digits in the text."""
    return re.sub("[^0-9]", "", text)


def _luhn(number: str) -> bool:
    digits = [int(char) for char in number]
    doubled = [digit * 2 - 9 if digit > 4 else digit * 2 for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _gtin(number: str) -> bool:
    """Whether the check digit is that of a trade item (EAN-13, GTIN-14)."""
    digits = [int(char) for char in number]
    return (sum(digits[-1::-2]) + 3 * sum(digits[-2::-2])) % 10 == 0


def card(text: str) -> int:
    """An issuer's number that passes Luhn; 13 or 14 digits in one piece that are a trade item's number are that."""
    number = digits_of(text)
    if not _ISSUERS.fullmatch(number) or not _luhn(number):
        return 0
    return 0 if len(number) == len(text) < 15 and _gtin(number) else len(text)


_NO_SIGN = {ord(sign): None for sign in " \u00a0\u2007\u2009\u202f-"}
_AS_DIGITS = {ord(sign): str(int(sign, 36)) for sign in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def iban(text: str) -> int:
    """A country's length, and the remainder by 97 that ISO 13616 asks for."""
    length = _IBAN_LENGTHS.get(text[:2].upper(), 0)
    compact = text.translate(_NO_SIGN).upper()
    if not length or len(compact) < length:
        return 0
    if int((compact[4:length] + compact[:4]).translate(_AS_DIGITS)) % 97 != 1:
        return 0
    signs = [place for place, sign in enumerate(text, start=1) if ord(sign) not in _NO_SIGN]
    taken = signs[length - 1]
    return taken if taken == len(text) or text[taken].isspace() else 0


def ssn(text: str) -> int:
    """Three parts that the Social Security Administration could have issued."""
    digits = digits_of(text)
    unassigned = digits[:3] in ("000", "666") or digits[0] == "9" or digits[3:5] == "00" or digits[5:] == "0000"
    return 0 if unassigned else len(text)


def international(text: str) -> int:
    """A number with ``+`` or ``00`` and an assigned country code, without another number that follows it."""
    plus = "+" in text[:2]
    if not plus:  # 00 begins many ids: here the country code has to stand alone, and the length has to be right
        text_code = re.match(r"00([1-9][0-9]{0,2})[^0-9]", text)
        if text_code is None or not _COUNTRY_CODE.fullmatch(text_code[1]):
            return 0
    number = digits_of(re.sub(r"\(0\)", "", text)).removeprefix("" if plus else "00")
    found = _COUNTRY_CODE.match(number)
    if found is None:
        return 0
    code = found[0]
    least, most = _NATIONAL.get(code, (0, 0))
    most = most or 15 - len(code)
    longest = 0
    for end in [match.end() for match in re.finditer(r"[0-9]+\)?", text)]:
        told = re.sub(r"\(0\)", "", text[:end])
        count = len(digits_of(told)) - len(code) - (0 if plus else 2)
        if max(least, 6) <= count <= most:
            longest = end
    if longest or code in ("1", "7") or not plus:
        area = number[1:2]
        return 0 if code == "1" and area in ("0", "1") else longest
    return len(text) if 9 <= len(number) <= 15 else 0


def national(text: str) -> int:
    """Groups that a country writes its numbers in: nine to twelve digits in all."""
    return len(text) if 9 <= len(digits_of(text)) <= 12 else 0


def named_phone(text: str) -> int:
    """What a name like ``phone`` stands before: seven to fifteen digits that are no date, address or time."""
    return len(text) if 7 <= len(digits_of(text)) <= 15 and not _NO_PHONE.fullmatch(text) else 0


_NO_DOMAIN = re.compile(
    r"v?\d+\.\d|\dx\.|.*\.(?:png|jpe?g|gif|svg|webp|avif|ico|[jt]sx?|json[l5]?|ya?ml|toml|html?|s?css|txt|pdf|log|[ct]sv"
    r"|xml|lock|exe|dll|whl|tgz|tar|jar|class|ini|conf|cfg|sql|parquet|service|socket|target|timer|mount|slice|scope|device)$",
    re.IGNORECASE,
)
"""A version, a picture for dense screens, a file, a unit of systemd."""


def email(text: str) -> int:
    """An address, unless it names a repository, a version or a file."""
    name, _, domain = text.replace("%40", "@").rpartition("@")
    return 0 if name.lower() in ("git", "hg", "svn") or _NO_DOMAIN.match(domain) else len(text)
