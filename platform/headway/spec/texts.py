"""The kinds of text that a job or sites file holds: names, references, commands; never a credential."""

import re
import shlex
from typing import Annotated, Final, LiteralString
from urllib.parse import urlsplit

from pydantic import AfterValidator, WithJsonSchema

from headway.spec.parts import Found, fault, refuse
from headway.spec.problems import show
from headway.spec.quantities import entries

# What well-known credentials look like; the texts name the kind and never repeat the value.
_CREDENTIALS: Final = (
    ("AWS", re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),
    ("Hugging Face", re.compile(r"\bhf_[A-Za-z0-9]{20,}")),
    ("API", re.compile(r"\bsk-[A-Za-z0-9_-]{20,}")),
    ("GitHub", re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{30,})")),
    ("GitLab", re.compile(r"\bglpat-[\w-]{20,}")),
    ("Slack", re.compile(r"\bxox[abprs]-[\w-]{10,}")),
    ("PEM", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")),
)
_AWS_SECRET: Final = re.compile(r"[A-Za-z0-9/+=]{40}")


def _printable(value: str) -> str:
    if not value.isprintable():
        raise fault("spec.not_printable", value=show(value))
    if value and not value.strip():
        raise fault("spec.blank")
    return value


Printable = Annotated[str, AfterValidator(_printable)]


def matching(pattern: str, message: LiteralString) -> object:
    """A text that fits a pattern whole, refused with a message of its own."""
    compiled = re.compile(pattern, re.ASCII)

    def validate(value: str) -> str:
        if compiled.fullmatch(value) is None:
            raise fault(message, value=show(value))
        return value

    return AfterValidator(validate)


def reference(*schemes: str) -> object:
    """A path or a URI of one of these schemes, without a password in it."""

    def validate(value: str) -> str:
        try:
            parts = urlsplit(value)
            password, host = parts.password, parts.netloc
        except ValueError:
            raise fault("spec.not_uri", value=show(value), schemes=", ".join(schemes)) from None
        if password is not None:
            raise fault("spec.password_in_uri")
        has_scheme = "://" in value
        if has_scheme and (parts.scheme not in schemes or not (host or parts.scheme == "file")):
            raise fault("spec.not_uri", value=show(value), schemes=", ".join(schemes))
        return value

    return AfterValidator(validate)


_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
Name = Annotated[
    str, matching(_NAME, "spec.not_name"), WithJsonSchema({"type": "string", "pattern": f"^{_NAME}$"})
]
Person = Annotated[Printable, entries("team")]


def credential_kind(value: str) -> str | None:
    """Whose credential a text seems to hold, or None."""
    return next((kind for kind, pattern in _CREDENTIALS if pattern.search(value)), None)


def _no_credentials(env: dict[str, str]) -> dict[str, str]:
    found: list[Found] = []
    for name, value in env.items():
        kind = credential_kind(value)
        if kind is None and name.upper().endswith("AWS_SECRET_ACCESS_KEY") and _AWS_SECRET.fullmatch(value):
            kind = "AWS"
        if kind is not None:
            found.append(Found((name,), "spec.credential", {"kind": kind}))
    refuse(found)
    return env


def _command(value: str) -> str:
    if not value.replace("\n", " ").replace("\t", " ").isprintable():
        raise fault("spec.not_printable", value=show(value))
    kind = credential_kind(value)
    if kind is not None:
        raise fault("spec.credential", kind=kind)
    try:
        words = shlex.split(value)
    except ValueError:
        raise fault("spec.not_a_command", value=show(value)) from None
    if not words:
        raise fault("spec.blank")
    return value


def _no_nul(value: str) -> str:
    if "\0" in value:
        raise fault("spec.not_printable", value=show(value))
    return value


Command = Annotated[str, entries("entrypoint"), AfterValidator(_command)]
EnvName = Annotated[str, entries("env.key"), matching(r"[A-Za-z_][A-Za-z0-9_]*", "spec.not_env_name")]
EnvValue = Annotated[str, entries("env.value"), AfterValidator(_no_nul)]
Environment = Annotated[dict[EnvName, EnvValue], entries("env"), AfterValidator(_no_credentials)]
Uri = Annotated[Printable, entries("uri"), reference("s3", "gs", "https", "http", "file", "hf")]
Storage = Annotated[Printable, entries("uri"), reference("s3", "file")]
Requirement = Annotated[
    Printable,
    entries("uri"),
    matching(r"[A-Za-z0-9./][^\r\n]*", "spec.not_requirement"),
    reference("https", "file"),
]
LabelKey = Annotated[Printable, entries("labels.key")]
LabelValue = Annotated[Printable, entries("labels.value")]
