"""audit and check_domain: proof-read the tasks and tools of a benchmark offline.

The audit asks whether tasks are good, by reading and by carrying out. Here is what it asks about
criteria and reference solutions: criteria may be unable to fail or to pass; the solution may do
what the policy forbids, as far as the database and what the task tells the user decide it.
``check_domain`` asks whether tasks can be played and their reference solutions earn the reward,
before a model is paid for failing at them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from maseval.benchmark.tau2.data_loader import (
    VALID_DOMAINS,
    DataUnavailableError,
    UnknownTaskError,
    load_raw_tasks,
)
from maseval.benchmark.tau2.domains import DOMAINS, Domain, domain_named
from maseval.benchmark.tau2.domains.domain import faults
from maseval.benchmark.tau2.domains.releases import AnyVersion, Release, release_of
from maseval.benchmark.tau2.formats.message import Tau2ToolCall, render_call
from maseval.benchmark.tau2.formats.simulation import RawTask
from maseval.benchmark.tau2.review.audit import knowledge
from maseval.benchmark.tau2.review.audit.audited import (
    SEVERITIES,
    AuditedDomain,
    AuditedTask,
    TaskFinding,
    audited_domain,
    toolkit_with,
)
from maseval.benchmark.tau2.review.audit.task_forms import faults_of_forms
from maseval.benchmark.tau2.review.policy import check_gold, scenario_text
from maseval.benchmark.tau2.world.setting import shortfall
from maseval.benchmark.tau2.world.state.records import canonical_json
from maseval.benchmark.tau2.world.tasks import Action, RewardType
from maseval.core.exceptions import ConfigurationError, TaskFormatError
from maseval.data.folder import AnyPath

_KNOWN_INITIAL_DATA = {"agent_data", "user_data"}


def gold_raises(task: AuditedTask) -> Iterator[TaskFinding]:
    """Find an action that fails; worse if it should have written.

    A look-up of what the user tells is meant to fail where the user is told something wrong.
    """
    actions = {action.action_id: action for action in task.spec.actions}
    for fault in task.gold.errors:
        action = actions[fault.action_id]
        call, kit = action.call(), toolkit_with(task.audited.domain, action)
        severe = kit is None or task.setting.may_write(call)
        yield task.finding(
            "gold raises",
            "error" if severe else "info" if _is_led_there(task, call) else "warning",
            f"{fault.name} raises {fault.error_type}: {fault.error}",
            call=render_call(call),
        )


def _is_led_there(task: AuditedTask, call: Tau2ToolCall) -> bool:
    # If the scenario gives every value of a call, its failure may be intended, unless calls are
    # scored.
    values = [str(value).lstrip("#") for value in call["arguments"].values()]
    told = all(value.lower() in task.scenario.lower() for value in values)
    return bool(values) and told and not task.counts(RewardType.ACTION)


def gold_is_refused(task: AuditedTask) -> Iterator[TaskFinding]:
    """An action whose tool declines in an ordinary answer, which scoring cannot tell from success.

    Only tools that answer with texts decline so; the others raise.
    """
    world = task.new_world()
    for action in task.spec.actions:
        # Every step is answered as in a conversation, since later ones depend on earlier ones.
        answer = world.respond(action.call())
        text = answer["content"] or ""
        if text.startswith("Error:") and not answer["error"]:
            said, call = f"{action.name} answers {text!r}", render_call(action.call())
            yield task.finding("gold is refused", "warning", said, call=call)


def initial_data_is_ignored(task: AuditedTask) -> Iterator[TaskFinding]:
    """Values for the databases in a place where nobody looks for them."""
    given = task.spec.start.initialization_data or {}
    ignored = sorted(key for key, value in given.items() if key not in _KNOWN_INITIAL_DATA)
    if ignored:
        yield task.finding(
            "initial data is ignored",
            "warning",
            f"initialization_data has {', '.join(ignored)} besides agent_data, which is ignored",
        )


def gold_changes_nothing(task: AuditedTask) -> Iterator[TaskFinding]:
    """Find a reference solution that only reads, where the end state counts."""
    if task.looks_at_the_world and task.counts(RewardType.DB) and task.gold.state == task.start:
        yield task.finding(
            "gold changes nothing",
            "info",
            f"its {len(task.spec.actions)} gold actions leave the database unchanged",
        )


def gold_misses_its_checks(task: AuditedTask) -> Iterator[TaskFinding]:
    """Find a reference solution that does not pass when it is carried out as a run would."""
    missed = shortfall(task.setting)
    # An assertion that raises leaves no verdict at all.
    raises = {RewardType.ENV_ASSERTION} if missed.error else ()
    kinds = [kind for kind in missed.kinds if task.counts(kind) or kind in raises]
    if not kinds:
        return
    text = "carried out call by call, the reference solution fails at "
    text += ", ".join(kind.value for kind in kinds)
    if RewardType.DB in kinds:
        text += (
            ": synchronised after each call, as in a run, the two sides lead elsewhere; leave it "
            "out of reward_basis, and use env_assertions"
        )
    if RewardType.ENV_ASSERTION in kinds:
        text += "".join(f"; it does not meet {e.message or e}" for e in missed.assertions)
        text += f"; {missed.error}" if missed.error else ""
        if (missed.error or "").startswith("AttributeError"):
            text += " (tasks call tools of a side that is there, and what is marked with for_tasks)"
    yield task.finding("gold misses its own checks", "error", text)


def criteria_can_only_pass(task: AuditedTask) -> Iterator[TaskFinding]:
    if task.criteria is None:
        yield task.finding("criteria can only pass", "error", "the task has no criteria")
    elif not any(map(task.criteria.can_fail, task.criteria.reward_basis)):
        basis = [kind.value for kind in task.criteria.reward_basis]
        yield task.finding(
            "criteria can only pass",
            "error",
            f"it has no criterion that can fail; scored: {', '.join(basis) or 'nothing'}",
        )


def doing_nothing_passes(task: AuditedTask) -> Iterator[TaskFinding]:
    """Find a task that is done before it begins."""
    criteria = task.criteria
    if criteria is None or not task.looks_at_the_world:
        return
    wanted = (RewardType.COMMUNICATE, RewardType.ACTION, RewardType.NL_ASSERTION)
    # Each of these asks for words or calls, so an agent that does nothing may fail it.
    if any(task.counts(kind) and criteria.can_fail(kind) for kind in wanted):
        return
    if task.counts(RewardType.DB) and task.gold.state != task.start:
        return
    if task.counts(RewardType.ENV_ASSERTION) and not task.assertions_hold(task.new_world()):
        return
    yield task.finding(
        "doing nothing passes",
        "warning",
        "an agent that does nothing and says nothing gets the full reward",
    )


def text_can_never_match(task: AuditedTask) -> Iterator[TaskFinding]:
    """Commas are removed from what the agent says, so a text with one is never found."""
    for info in task.texts_to_say:
        if "," in info:
            yield task.finding(
                "text can never match",
                "error",
                f"{info!r} has a comma, and commas are removed from what the agent says",
            )


def text_matches_by_chance(task: AuditedTask) -> Iterator[TaskFinding]:
    """Find a text so short that a wrong answer has it too."""
    for info in task.texts_to_say:
        if len(info) <= 2:
            yield task.finding(
                "text matches by chance",
                "warning",
                f"{info!r} also matches inside any longer number or word",
            )


def equal_requests(audited: AuditedDomain, tasks: Sequence[AuditedTask]) -> Iterator[TaskFinding]:
    asked: dict[str, list[AuditedTask]] = defaultdict(list)
    for task in tasks:
        if request := task.raw.get("user_scenario"):
            # Equal words about different worlds are different requests.
            asked[canonical_json((task.spec.start.key, request))].append(task)
    for first, *others in asked.values():
        for other in others:
            if first.gold.state != other.gold.state:
                yield audited.finding(
                    "stored twice with different gold",
                    "error",
                    f"tasks {first.id} and {other.id} have one request, but different end states",
                )


def against_the_policy(task: AuditedTask) -> Iterator[TaskFinding]:
    """Play the reference solution, and before each step ask whether the policy allows it."""
    # The scenario is given as what the user says: a solution has no words of its own.
    breaches = check_gold(task.setting, scenario_text(task.raw)).breaking_calls
    for action in task.spec.actions:
        mine = [each for each, call in breaches if call == action.call()]
        unoffered = [(text, None) for text in _outside_the_schema(task, action)]
        for text, rule in (*unoffered, *((each.text, each.rule) for each in mine)):
            call = render_call(action.call())
            yield task.finding("gold breaks the policy", "warning", text, rule=rule, call=call)


def _outside_the_schema(task: AuditedTask, action: Action) -> Iterator[str]:
    kit = toolkit_with(task.audited.domain, action)
    if kit is None:
        yield f"the {action.requestor} has no tool {action.name!r}"
        return
    inputs: Mapping[str, Any] = kit.get_tool_metadata(action.name)["inputs"]
    for name, value in action.arguments.items():
        if name not in inputs:
            yield f"{action.name} has no argument {name}"
        elif "enum" in inputs[name] and value not in inputs[name]["enum"]:
            yield f"{name} is {value!r}, which {action.name} does not offer"


OnTask = Callable[[int, int], object]
"""Called with how many tasks have been looked at, and how many there are."""

TaskCheck = Callable[[AuditedTask], Iterator[TaskFinding]]

_TASK_CHECKS: tuple[TaskCheck, ...] = (
    gold_raises,
    gold_is_refused,
    initial_data_is_ignored,
    gold_changes_nothing,
    gold_misses_its_checks,
    criteria_can_only_pass,
    doing_nothing_passes,
    text_can_never_match,
    text_matches_by_chance,
    against_the_policy,
    knowledge.ids_nobody_can_know,
    knowledge.texts_in_no_answer,
    knowledge.persona_contradictions,
)
_DOMAIN_CHECKS = (equal_requests, knowledge.unknown_tools)


def audit(
    domain: str | Domain | Sequence[str | Domain] | None = None,
    *,
    split: str = "base",
    data_dir: AnyPath | None = None,
    version: AnyVersion = None,
    task_id: str | None = None,
    on_progress: OnTask | None = None,
) -> list[TaskFinding]:
    """Return the findings about the tasks of one or more domains, errors first.

    Without ``domain``, airline, retail and telecom are audited. A domain of your own is given as
    its object, or by name once it is registered. With ``task_id`` only that task is looked at, in
    the domains that have it. ``on_progress`` is called with how many tasks have been looked at, of
    how many.
    """
    given = VALID_DOMAINS if domain is None else domain
    named = [given] if isinstance(given, str | Domain) else given
    audits = [_Audit(name, split, data_dir, release_of(name, version)) for name in named]
    if task_id is not None:
        audits = _with_task(audits, task_id)
    report = on_progress or (lambda done, total: None)
    total, done, findings = sum(len(each.raw_tasks) for each in audits), 0, []
    for each in audits:
        for number, found in enumerate(each.look(whole=task_id is None)):
            # The last findings are about the whole domain, and do not count as a task.
            report(done + min(number, len(each.raw_tasks)), total)
            findings += found
        done += len(each.raw_tasks)
    report(total, total)
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


class _Audit:
    def __init__(
        self, named: str | Domain, split: str, data_dir: AnyPath | None, release: Release
    ) -> None:
        self.domain = release.domain(named)
        own = self.domain.name not in DOMAINS
        # The published domains are sound, and describing all their tools takes its time.
        if own and (found := faults(self.domain)):  # then no task could be played
            raise ConfigurationError("; ".join(found))
        self._audited = audited_domain(self.domain, data_dir, release.rules)
        self.raw_tasks = load_raw_tasks(self.domain, split, data_dir, version=release)

    def look(self, *, whole: bool) -> Iterator[list[TaskFinding]]:
        """Yield the findings about each task; with the last come those about the ``whole``."""
        tasks: list[AuditedTask] = []
        for raw in self.raw_tasks:
            try:
                tasks.append(AuditedTask(self._audited, raw))
            except TaskFormatError as error:
                make, task_id = self._audited.finding, str(raw.get("id"))
                yield [make("task cannot be read", "error", str(error), task_id=task_id)]
        for task in tasks:
            yield list(_look(task, _TASK_CHECKS))
        if whole and self.domain.name not in DOMAINS:
            forms = faults_of_forms(self._audited, self.raw_tasks)
            faults_of_files = _faults_of_files(self._audited, self.raw_tasks)
            # Both look at the tasks of this split and may report the same fault.
            yield [*dict.fromkeys((*forms, *faults_of_files))]
        if whole:
            yield [found for look in _DOMAIN_CHECKS for found in look(self._audited, tasks)]


def _with_task(audits: Sequence[_Audit], task_id: str) -> list[_Audit]:
    found = []
    for each in audits:
        ids = [str(raw.get("id")) for raw in each.raw_tasks]
        each.raw_tasks = [raw for raw in each.raw_tasks if str(raw.get("id")) == task_id]
        if each.raw_tasks:
            found.append(each)
    if not found:
        raise UnknownTaskError(
            f"{each.domain.name} has no task {task_id!r}; it has {ids[0]!r} and {len(ids) - 1} more"
        )
    return found


# A task's own functions run here: what goes wrong in them is a finding about the task.
def _look(task: AuditedTask, looks: Iterable[TaskCheck]) -> Iterator[TaskFinding]:
    try:
        for look in looks:
            yield from look(task)
    except DataUnavailableError:  # then no task can be played, and it is not the task's fault
        raise
    except Exception as error:  # a task's own functions: their faults are findings
        yield task.finding(
            "task cannot be read", "error", f"it cannot be played: {type(error).__name__}: {error}"
        )


def check_domain(domain: str | Domain) -> list[str]:
    """Return a sentence for each problem of a domain, and for each task that nobody can pass."""
    chosen = domain_named(domain)
    found = faults(chosen)
    if found:  # then no task could be played
        return found
    errors = (e for e in _faults_of_files(audited_domain(chosen)) if e.severity == "error")
    said = (f"task {each.task_id!r}: {each.text}" if each.task_id else each.text for each in errors)
    return [*dict.fromkeys(said)]


def _faults_of_files(
    audited: AuditedDomain, played: Sequence[RawTask] = ()
) -> Iterator[TaskFinding]:
    """Yield what is wrong in all files of one's own tasks; what was ``played`` is not again."""
    for split in _splits(audited.domain):
        try:
            tasks = load_raw_tasks(audited.domain, split)
        except TaskFormatError as error:
            yield audited.finding("task is malformed", "error", str(error))
            continue
        yield from faults_of_forms(audited, tasks)
        for raw in tasks:
            if raw not in played:
                yield from _faults_in_playing(audited, raw)


# Several splits may stand in one file, which is then read once.
def _splits(domain: Domain) -> list[str]:
    return list({file: split for split, file in domain.task_files.items()}.values())


def _faults_in_playing(audited: AuditedDomain, raw: RawTask) -> Iterator[TaskFinding]:
    try:
        task = AuditedTask(audited, raw)
    except TaskFormatError as error:
        yield audited.finding("task cannot be read", "error", str(error))
        return
    looks = (gold_raises, gold_misses_its_checks)
    yield from (each for each in _look(task, looks) if each.severity == "error")
