"""Failures of the agent: what it did, did not do, or did not say."""

from itertools import product, takewhile

from maseval.benchmark.tau2.formats.message import TRANSFER, Tau2Message, Tau2ToolCall
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.benchmark.tau2.review import words
from maseval.benchmark.tau2.review.explain.explanation import format_value, render_call
from maseval.benchmark.tau2.review.labels.failure import (
    Failure,
    agrees_to,
    describes,
    differences,
    is_error,
)
from maseval.benchmark.tau2.review.labels.instructed import instructs
from maseval.benchmark.tau2.review.labels.user_faults import transferred_at
from maseval.benchmark.tau2.review.policy.confirming import TRANSFER_TOOL
from maseval.benchmark.tau2.review.words import (
    id_like,
    mentions,
    other_ids,
    own_values,
    record,
    reports_it_done,
    says_the_like,
    telling_values,
)
from maseval.stats.failure_labels import Label, Who

_OFTEN = 3


def forbidden_write(failure: Failure) -> Label | None:
    """A wrong write is one that the policy forbids."""
    broken = [
        (index, call, failure.forbidden[index, render_call(call)])
        for index, call in failure.wrong_writes
        if (index, render_call(call)) in failure.forbidden and not failure.is_gold(call)
    ]
    if not broken:
        return None
    evidence = [f"message {index}: {render_call(call)}: {why}" for index, call, why in broken]
    missing = {change.call["name"]: change.call for change in failure.to_add}
    instead = [(call, missing[call["name"]]) for _, call, _ in broken if call["name"] in missing]
    evidence += [line for pair in instead for line in differences(*pair)]
    what = "wrong arguments" if len(instead) == len(broken) else "extra write"
    return Label("agent", what, "forbidden write", tuple(evidence))


def made_impossible(failure: Failure) -> Label | None:
    """A call of the reference solution was tried and failed, because of a write before it."""
    for change in failure.to_leave_out:
        before = change.message_index or 0
        for index, call, answer in failure.writes:
            if index >= before and is_error(answer) and failure.is_gold(call):
                evidence = (
                    f"message {before}: {render_call(change.call)}",
                    f"message {index}: then {render_call(call)} fails: "
                    f"{format_value(answer.get('content'))}",
                )
                return Label("agent", "extra write", "made impossible", evidence)
    return None


def said_and_not_done(failure: Failure) -> Label | None:
    """The agent says that it has done what is missing, and names it, and has never done it."""
    undone = [
        change.call
        for change in failure.to_add
        if change.call["requestor"] == "assistant" and not _is_done_otherwise(failure, change.call)
    ]
    said = [
        (index, text, sentence)
        for index, text in (failure.said_by("assistant") if undone else ())
        for sentence in words.sentences(text)
    ]
    for call, (index, text, sentence) in product(undone, said):
        if not reports_it_done(sentence, call) or _is_true(failure, text, sentence):
            continue
        # A tool that was used for something else may be what the agent speaks of.
        used = any(made["name"] == call["name"] for _, made, _ in failure.writes)
        only = not used and record(call) is None
        if only or _names_it(failure, sentence if used else text, call):
            evidence = (
                f"message {index}, the agent: {format_value(sentence)}",
                f"never called: {render_call(call)}",
            )
            return Label("agent", "said and not done", "said and not done", evidence)
    return None


def _is_done_otherwise(failure: Failure, call: Tau2ToolCall) -> bool:
    """Tell whether the tool was used for the same record, or for what a report may be about."""
    name = record(call)
    return any(
        made["name"] == call["name"] and (name is None or name in telling_values(made["arguments"]))
        for _, made, answer in failure.calls
        if not is_error(answer)
    )


def _is_true(failure: Failure, text: str, sentence: str) -> bool:
    """Tell whether a sentence may report something that was done."""
    return any(
        reports_it_done(sentence, made) and mentions(text, record(made) or "")
        for _, made, answer in failure.writes
        if not is_error(answer)
    )


def _names_it(failure: Failure, text: str, call: Tau2ToolCall) -> bool:
    """Tell whether a text names the record of a call, one of its values, or one of its items."""
    if failure.names_another(text, call):
        return False
    values = own_values(call)
    return not values or any(mentions(text, each) for each in (*values, *failure.names_of(values)))


def agreed_and_forgotten(failure: Failure) -> Label | None:
    """The user said yes to what is missing, and the agent went on without doing it."""
    for call in (
        change.call for change in failure.to_add if change.action_id not in failure.forbidden_gold
    ):
        replies = [
            (at, reply)
            for offer, at, reply in failure.replies_to(call)
            if describes(failure.text_of(offer), call)
        ]
        agreed = [at for at, reply in replies if agrees_to(reply, call)]
        if not agreed or replies[-1][0] != agreed[-1] or failure.refusals_of(call):
            continue
        answers = [text for at, text in failure.said_by("assistant") if at > agreed[-1]]
        waits = answers and len(agreed) < 2 and words.requests(answers[0])
        if answers and not waits and not _tried_after(failure, agreed[0], call):
            evidence = (f"message {agreed[0]}: the user agrees", *_missing(failure))
            return Label("agent", "missing write", "agreed and forgotten", evidence)
    return None


def _tried_after(failure: Failure, at: int, call: Tau2ToolCall) -> bool:
    tried = [
        made for index, made, _ in failure.calls if index > at and made["name"] == call["name"]
    ]
    return any(record(made) == record(call) for made in tried)


def wrong_proposal(failure: Failure) -> Label | None:
    """The user left on a yes to what the agent proposed, which was something else."""
    said = list(failure.said_by("assistant"))
    last = failure.messages[-1]
    if not said or last["role"] != "user" or not failure.nothing_wrong_done:
        return None
    at, text = said[-1]
    reply = last.get("content") or ""
    missing = [change.call for change in failure.to_add]
    if not words.asks(text) or not all(other_ids(text, call) for call in missing):
        return None
    if not any(says_the_like(text, call) and agrees_to(reply, call) for call in missing):
        return None
    evidence = (f"message {at}, the agent: {format_value(text)}", *_missing(failure))
    return Label("agent", "wrong arguments", "wrong proposal", evidence)


def transferred_at_once(failure: Failure) -> Label | None:
    """The agent handed over to a human before it had looked anything up."""
    at = transferred_at(failure)
    if at is None or TRANSFER_TOOL in {action.name for action in failure.gold}:
        return None
    looked = [call for index, call, _ in failure.calls if index <= at]
    if any(call["name"] != TRANSFER_TOOL for call in looked):
        return None
    evidence = (f"message {at}: the agent transfers, and has looked nothing up",)
    return Label("agent", "transferred too early", "transferred at once", evidence)


def ran_out_of_steps(failure: Failure) -> Label | None:
    """The conversation was cut off when all its steps were used up."""
    if failure.subject.case.recording.termination_reason != TerminationReason.MAX_STEPS:
        return None
    what, evidence = "ran out of steps", f"cut off after {len(failure.messages)} messages"
    last, times = _repeated_at_the_end(failure)
    if times < _OFTEN:
        return Label("agent", what, what, (evidence,))
    repeated = f"the last {times} calls of the {last['requestor']} are {render_call(last)}"
    writes = failure.subject.case.setting.may_write
    owed = any(each.requestor == "assistant" and writes(each.call()) for each in failure.not_made)
    who: Who = "agent" if owed or last["requestor"] == "assistant" else "unclear"
    return Label(who, what, what, (evidence, repeated))


def _repeated_at_the_end(failure: Failure) -> tuple[Tau2ToolCall, int]:
    """Return the last call, and how often it was made without anything else in between."""
    calls = [(call["requestor"], render_call(call), call) for _, call, _ in failure.calls]
    if not calls:
        return {"id": "", "name": "", "arguments": {}, "requestor": "assistant"}, 0
    same = list(takewhile(lambda each: each[:2] == calls[-1][:2], reversed(calls)))
    return calls[-1][2], len(same)


def too_many_errors(failure: Failure) -> Label | None:
    """The conversation was cut off because too many calls failed."""
    if failure.subject.case.recording.termination_reason != TerminationReason.TOO_MANY_ERRORS:
        return None
    failed = sum(bool(m.get("error")) for m in failure.messages if m["role"] == "tool")
    return Label("agent", "too many failed calls", "too many errors", (f"{failed} calls failed",))


def information_not_given(failure: Failure) -> Label | None:
    """Everything was done, and something was not said; unclear if the user did not ask for it."""
    if failure.explanation.failed_gates != ("COMMUNICATE",):
        return None
    evidence = []
    for found in failure.explanation.communication:
        if not found.met:
            near = f"; nearest in message {found.quote.message_index}" if found.quote else ""
            evidence.append(f"{found.info!r} was never said{near}")
    if _still_wanted(failure):
        return Label("agent", "information not given", "information not given", tuple(evidence))
    what = "information not asked for"
    asked = any(words.wants_to_know(text) for _, text in failure.said_by("user"))
    last = [text for _, text in failure.said_by("assistant")][-1:]
    if not asked and any("?" in text and words.closes(text) for text in last):
        why = "the user did not ask, although it was asked what else it wants"
        return Label("user", what, what, (*evidence, why))
    why = "the user asked only before a refusal" if asked else "the user did not ask"
    return Label("unclear", what, what, (*evidence, why))


def _still_wanted(failure: Failure) -> bool:
    """Tell whether the user asked for information and no refusal made it pointless.

    It did not if the user asks after it, or if the agent has given figures before it.
    """
    said = list(failure.said_by("assistant"))
    wanted = [index for index, text in failure.said_by("user") if words.wants_to_know(text)]
    refused = [index for index, text in said if words.refusal(text)]
    if not wanted or not refused or max(wanted) > min(refused):
        return bool(wanted)
    return any(words.gives_figures(text) for index, text in said if index < min(refused))


def wrong_arguments(failure: Failure) -> Label | None:
    """A call was made with the right tool and other arguments than the gold action's."""
    missing = [change.call for change in failure.to_add]
    for index, call in _suspicious(failure):
        for wanted in missing:
            if wanted["name"] == call["name"] and _about_the_same(wanted, call, failure):
                evidence = (f"message {index}: {render_call(call)}", *differences(call, wanted))
                return Label("agent", "wrong arguments", "wrong arguments", evidence)
    return None


def other_values(failure: Failure) -> Label | None:
    """No repair was found, but an action of the reference solution was made with other values."""
    for action in failure.not_made if not failure.changes else ():
        for index, made, answer in failure.writes:
            same = made["name"] == action.name and made["requestor"] == action.requestor
            if same and not is_error(answer) and not failure.is_gold(made):
                evidence = (
                    f"message {index}: {render_call(made)}",
                    *differences(made, action.call()),
                )
                who: Who = "agent" if action.requestor == "assistant" else "user"
                return Label(who, "wrong arguments", "other values", evidence)
    return None


def _suspicious(failure: Failure) -> list[tuple[int, Tau2ToolCall]]:
    """Return the calls that wrote a wrong value, would have to be left out, missed, or failed."""
    found = [(c.message_index or 0, c.call) for c in failure.to_leave_out]
    found += [(at.message_index, at.call) for at in failure.wrong_writers]
    found += failure.attempts
    found += [(index, call) for index, call, answer in failure.writes if is_error(answer)]
    return found


def _about_the_same(wanted: Tau2ToolCall, made: Tau2ToolCall, failure: Failure) -> bool:
    """Tell whether a call stands for the missing one: same subject, or a subject nobody wants.

    The subject is the first argument: an order, a reservation, a customer.
    """
    first = next(iter(wanted["arguments"]), None)
    if first is None or made["arguments"].get(first) == wanted["arguments"][first]:
        return True
    subjects = [
        action.arguments.get(first) for action in failure.gold if action.name == made["name"]
    ]
    return made["arguments"].get(first) not in subjects


def transferred_too_early(failure: Failure) -> Label | None:
    """Nothing wrong was done, something was missing, and the agent passed it on to a human."""
    if failure.to_leave_out or not (failure.to_add or failure.explanation.to_be_said):
        return None
    if TRANSFER_TOOL in {action.name for action in failure.gold}:
        return None
    at = transferred_at(failure)
    if at is None and not _agreed_to_a_transfer(failure):
        return None
    how = "the agent proposes a transfer" if at is None else f"message {at}: the agent transfers"
    unsaid = (f"{info!r} was never said" for info in failure.explanation.to_be_said)
    evidence = (how, *_missing(failure), *unsaid)
    return Label("agent", "transferred too early", "transferred too early", evidence)


def _agreed_to_a_transfer(failure: Failure) -> bool:
    last = failure.messages[-1]
    offers = list(failure.said_by("assistant"))[-1:]
    ended = last["role"] == "user" and TRANSFER in (last.get("content") or "")
    return ended and any(words.speaks_of_a_transfer(text) for _, text in offers)


def refused_wrongly(failure: Failure) -> Label | None:
    """Nothing wrong was done, something was missing, and the agent declined it."""
    if not failure.to_add or failure.to_leave_out:
        return None
    for change in failure.to_add:
        for index, text in reversed(failure.refusals_of(change.call)):
            how = f"message {index}: {format_value(words.around_refusal(text))}"
            return Label("agent", "refused wrongly", "refused wrongly", (how, *_missing(failure)))
    return None


def extra_write(failure: Failure) -> Label | None:
    """Something was done that the reference solution does not do."""
    if not failure.to_leave_out:
        return None
    extra = (f"message {c.message_index}: {render_call(c.call)}" for c in failure.to_leave_out)
    return Label("agent", "extra write", "extra write", (*extra, *_missing(failure)))


def permanent_write(failure: Failure) -> Label | None:
    """No repair was found, but a write that made success impossible was."""
    found = failure.explanation.divergence
    if found is None or found.call is None:
        return None
    evidence = (
        f"message {found.call.message_index}: {render_call(found.call.call)}",
        f"{found.place}: {found.reason}",
    )
    return Label("agent", "extra write", "permanent write", evidence)


def never_looked_up(failure: Failure) -> Label | None:
    """The record that is missing a change was listed, and the agent never asked for it."""
    for change in failure.to_add:
        name = record(change.call)
        if name is None or change.call["requestor"] == "user":
            continue
        listed = next((i for i, _, answer in failure.calls if _lists_record(answer, name)), None)
        asked = any(name in telling_values(call["arguments"]) for _, call, _ in failure.calls)
        tried = any(call["name"] == change.call["name"] for _, call, _ in failure.writes)
        if listed is not None and not asked and not tried:
            evidence = (
                f"message {listed}: the answer lists {name!r}, which the agent never looks up",
                *_missing(failure),
            )
            return Label("agent", "missing write", "never looked up", evidence)
    return None


def never_read(failure: Failure) -> Label | None:
    """The agent never looked up something that the user's request needs.

    It stands in the database, and neither the user nor a tool has told it.
    """
    told = "\n".join([*(each.get("content") or "" for each in failure.messages), failure.scenario])
    for call in (each.call for each in failure.to_add if each.call["requestor"] == "assistant"):
        unseen = [value for value in own_values(call) if id_like(value) and value not in told]
        if unseen and next(failure.wishes_for(call), None) is not None:
            evidence = (f"never looked up: {', '.join(unseen)}", *_missing(failure))
            return Label("agent", "missing write", "never read", evidence)
    return None


def _lists_record(answer: Tau2Message, name: str) -> bool:
    return not is_error(answer) and mentions(answer.get("content") or "", name)


def missing_write(failure: Failure) -> Label | None:
    """Something was not done that the user asked for, or that nobody told the user to do."""
    if not failure.to_add:
        return None
    ignored = [why for change in failure.to_add if (why := _sign_of_neglect(failure, change.call))]
    if not ignored:
        return None
    writes = [
        change for change in failure.to_add if failure.subject.case.setting.may_write(change.call)
    ]
    what = "missing write" if writes else "missing action"
    return Label("agent", what, "missing write", (*ignored, *_missing(failure)))


def _sign_of_neglect(failure: Failure, call: Tau2ToolCall) -> str | None:
    """Return the sign that the agent passed over a call, or None."""
    if failure.subject.case.setting.solo:
        return "the agent works alone"
    if call["requestor"] == "user":
        told = any(instructs(failure, text, call) for _, text in failure.said_by("assistant"))
        return None if told else f"the agent never speaks of {call['name']}"
    if failure.offers_of(call):
        _, at, last = next(reversed(list(failure.replies_to(call))), (0, 0, ""))
        # A yes after which something else was done was meant for that.
        after = failure.reply_after(at)
        used = any(
            at < index < (after[0] if after else index + 1) for index, _, _ in failure.writes
        )
        agreed = agrees_to(last, call) and not used
        return f"message {at}: the user agrees" if agreed else None
    asked = next(failure.wishes_for(call), None)
    if asked is not None:
        return f"message {asked}: the user asks for it, the agent never offers it"
    if failure.may_have_asked_for(call):
        return "the user asks for something like it, the agent never offers it"
    if failure.is_about(failure.scenario, call):
        return None  # a wish that the user had to bring forward
    return "the task leaves it to the agent, which never offers it"


def _missing(failure: Failure) -> list[str]:
    return [f"missing: {render_call(change.call)}" for change in failure.to_add]
