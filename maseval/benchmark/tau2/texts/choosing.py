"""Which texts a run uses: ``original``, ``ours``, or by default the original's where they are.

A run never fetches texts unless it is asked for them by name: whether a number is comparable must
not depend on whether a server answers in time.
"""

from maseval.benchmark.tau2.data.files import DEFAULT_VERSION, Tau2DataError
from maseval.benchmark.tau2.texts.errors import TextsError
from maseval.benchmark.tau2.texts.loading import kept_texts, load_texts
from maseval.benchmark.tau2.texts.original import OriginalWording
from maseval.benchmark.tau2.texts.texts import Texts
from maseval.benchmark.tau2.texts.wording import OurWording, Wording
from maseval.benchmark.tau2.versions.releases import AnyVersion, release_named
from maseval.core.exceptions import ConfigurationError
from maseval.data.python_source import SourceShapeError

AnyTexts = str | Texts | Wording | None
"""``original``, ``ours``, texts that are loaded already, or None for the original's if there."""

FETCH = "maseval tau2 data texts"

NOT_COMPARABLE = (
    "models read maseval's own texts, so the numbers are not comparable with those of tau2-bench; "
    f"`{FETCH}` gets the original's"
)


class TextsUnavailableError(TextsError):
    """The original's texts were asked for, and cannot be had."""


def wording_of(texts: AnyTexts = None, version: AnyVersion = None) -> Wording:
    """What ``texts`` means for a run by the rules of a release."""
    rules = release_named(version).rules
    match texts:
        case None:
            kept = kept_texts(rules.version)
            if kept is None:
                return OurWording(rules.participants)
            return OriginalWording(kept, rules.participants)
        case Wording():
            return texts
        case Texts():
            return OriginalWording(_of_version(texts, rules.version), rules.participants)
        case OurWording.name:
            return OurWording(rules.participants)
        case OriginalWording.name:
            return OriginalWording(original_texts(rules.version), rules.participants)
    raise ConfigurationError(
        f"texts is {texts!r}; choose one of: {OriginalWording.name}, {OurWording.name}"
    )


def _of_version(texts: Texts, version: str) -> Texts:
    if texts.version != version:
        raise ConfigurationError(
            f"the texts are those of v{texts.version}, but the run is one of v{version}; load "
            f'them with load_texts("{version}")'
        )
    return texts


def original_texts(version: str = DEFAULT_VERSION) -> Texts:
    """The original's texts, fetched if need be; an error says how they can be had."""
    try:
        return load_texts(version)
    except (TextsError, SourceShapeError):
        raise
    except Tau2DataError as error:
        raise TextsUnavailableError(
            f"the original's texts of {version} were asked for and are not here: {error}\n"
            f"`{FETCH}` fetches them; MASEVAL_TAU2_TEXTS may name a file of extracted texts; and "
            f"with texts '{OurWording.name}' a run needs none, but its numbers are not comparable"
        ) from error
