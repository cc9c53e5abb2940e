"""The wording of a run: our own words, and the choice between them and the original's.

``texts`` is ``original``, ``ours``, or by default the original's where they are. A run never
fetches texts unless it is asked for them by name: whether a number is comparable must not depend
on whether a server answers in time.
"""

from maseval.benchmark.tau2.data import known_version, title_of
from maseval.benchmark.tau2.data.files import DEFAULT_VERSION, Tau2DataError
from maseval.benchmark.tau2.domains.releases import AnyVersion, release_named
from maseval.benchmark.tau2.texts.loading import fetching_command, kept_texts, load_texts
from maseval.benchmark.tau2.texts.original import OriginalWording, Wording
from maseval.benchmark.tau2.texts.texts import Texts, TextsError
from maseval.benchmark.tau2.versions import RULES_0_2_0
from maseval.core.exceptions import ConfigurationError
from maseval.data.files import SourceShapeError

AnyTexts = str | Texts | Wording | None
"""``original``, ``ours``, texts that are loaded already, or None for the original's if there."""


def words_on_our_texts(version: str) -> str:
    """Return why numbers that were measured with our texts are not those of a release."""
    return (
        "models read maseval's own texts, so the numbers are not comparable with those of "
        f"tau2-bench; `{fetching_command(version)}` gets the original's"
    )


class TextsUnavailableError(TextsError):
    """The original's texts were asked for, and are not available."""


class OurWording(Wording):
    """Our own words: always there, but a number measured with them is not the original's."""

    name = "ours"

    # Of every text of ours that a model may read, the tools' included. To compute it would take
    # every domain's modules into each run; a test does, and says when a text has changed.
    sha256 = "c3af3299c12e19023bcdfc508ffd6ef6534053d546bb06a75768cf37c153f50b"


OURS = OurWording(RULES_0_2_0.participants)


def wording_of(texts: AnyTexts = None, version: AnyVersion = None) -> Wording:
    """Return the wording that ``texts`` means, for a run by the rules of a release."""
    rules = release_named(version).rules
    match texts:
        case None:
            kept = kept_texts(rules.version)
            if kept is None:
                return OurWording(rules.participants)
            return OriginalWording(kept, rules.participants)
        case Wording():
            return texts
        case Texts() if texts.version != rules.version:
            raise ConfigurationError(
                f"the texts are those of {title_of(texts.version)}, but the run is one of "
                f'{title_of(rules.version)}; load them with load_texts("{rules.version}")'
            )
        case Texts():
            return OriginalWording(texts, rules.participants)
        case OurWording.name:
            return OurWording(rules.participants)
        case OriginalWording.name:
            return OriginalWording(original_texts(rules.version), rules.participants)
    raise ConfigurationError(
        f"texts is {texts!r}; choose one of: {OriginalWording.name}, {OurWording.name}"
    )


def original_texts(version: str = DEFAULT_VERSION) -> Texts:
    """Return the original's texts, fetched if need be; an error says how to get them."""
    try:
        return load_texts(version)
    except (TextsError, SourceShapeError):
        raise
    except Tau2DataError as error:
        raise TextsUnavailableError(
            f"the original's texts of {version} were asked for and are not here: {error}\n"
            f"`{fetching_command(known_version(version))}` fetches them; MASEVAL_TAU2_TEXTS "
            "may name a file of extracted texts; and "
            f"with texts '{OurWording.name}' a run needs none, but its numbers are not comparable"
        ) from error
