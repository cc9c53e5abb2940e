"""Write the results of a run in the form of Every Eval Ever 0.3.0: the numbers, and each row.

The scores are those that every command shows, in percent, with their intervals; what no field can
say stands in the details, which are texts. The same run gives the same files.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from maseval.app.benchmarks import ExportedPath, support_for
from maseval.app.results.examined import examine_run
from maseval.app.results.labelled import JudgedShare
from maseval.app.results.recording import name_of
from maseval.core.exceptions import NotRunError
from maseval.core.messages import arguments_of
from maseval.core.outcome import RecordedReport
from maseval.core.recorded import RecordedMessage, mapping
from maseval.core.storage import strict_json
from maseval.core.storage.files import atomic_folder, check_free
from maseval.core.storage.redaction import redact
from maseval.core.words import count_of, text, text_or_none
from maseval.interface.telemetry.simulation import SECOND, bounds
from maseval.runs.recording import Recording
from maseval.stats import Estimate
from maseval.stats.intervals import Interval

VERSION = "0.3.0"
_PERCENT = {
    "metric_unit": "percent",
    "score_type": "continuous",
    "lower_is_better": False,
    "min_score": 0.0,
    "max_score": 100.0,
}
_SOURCE = {
    "source_type": "evaluation_run",
    "source_organization_name": "unknown",
    "evaluator_relationship": "other",
}
JsonDict = dict[str, Any]


def write_results(recording: Recording, output: Path | None, overwrite: bool) -> ExportedPath:
    """Write ``data/COLLECTION/DEVELOPER/MODEL/ID.json``, and ``ID_samples.jsonl`` beside it."""
    if not recording.recorded:
        raise NotRunError(f"{recording.path} has no finished simulation yet; nothing to export")
    target = output or Path(f"{name_of(recording)}.eee")
    results = _Results(recording)
    with atomic_folder(target, lambda: check_free(target, overwrite)) as folder:
        digest, count = hashlib.sha256(), 0
        with (folder / "samples").open("wb") as file:
            for row in results.rows():
                line = f"{strict_json.dumps(row)}\n".encode("ascii")
                file.write(line)
                digest.update(line)
                count += 1
        # The name follows from the rows, so that a collection sees the same results once.
        name = UUID(bytes=hashlib.sha256(digest.digest()).digest()[:16], version=4)
        place = Path("data", *map(_folder_name, (results.collection, *results.model.split("/", 1))))
        (folder / place).mkdir(parents=True)
        samples = f"{place.as_posix()}/{name}_samples.jsonl"
        (folder / "samples").rename(folder / samples)
        detailed = {
            "format": "jsonl",
            "file_path": samples,
            "hash_algorithm": "sha256",
            "checksum": digest.hexdigest(),
            "total_rows": count,
        }
        document = {**results.document(), "detailed_evaluation_results": detailed}
        whole = f"{strict_json.dumps(document, indent=2)}\n"
        (folder / place / f"{name}.json").write_text(whole, encoding="ascii")
    left_out = len(results.found.lines) - count
    notes = [f"{count_of(left_out, 'simulation')} without a verdict have no row"] * bool(left_out)
    return ExportedPath(target, notes)


class _Results:
    """The numbers and the rows of a run; ``model`` is that of its agent, after its developer."""

    def __init__(self, recording: Recording) -> None:
        self.found = examine_run(recording, ())
        self.config, support = recording.config.values, support_for(recording)
        # Whoever collects scores by their names must not put these beside others.
        self.kind = ".perturbed" if self.found.summary.perturbed else ""
        self.benchmark = support.version(self.config) or str(self.config.get("benchmark"))
        self.collection = support.public_name or str(self.config.get("benchmark"))
        agent, reports = self.config.get("agent"), list(map(_facts, self._reports()))
        model, player = (mapping(agent).get(key) for key in ("model", "player"))
        # A scripted agent is nobody's model, and the form asks for a developer.
        named = text_or_none(model or (f"maseval/{player}" if player else agent))
        # What the reports say was asked counts more than what the configuration names.
        models = {each[2] for each in reports} - {None} or {named}
        # The form has room for one model; naming one of several would be wrong.
        self.model = _model_id(models.pop() if len(models) == 1 else None)
        self.began, self.harness = min(each[0] for each in reports), reports[0][3]
        self.ended = max(each[1] for each in reports)
        self.id = f"{self.collection}/{self.model}/{self.ended}"

    def _reports(self) -> Iterator[RecordedReport]:
        return map(RecordedReport, self.found.folder.reports())

    def document(self) -> JsonDict:
        """Return the aggregated results."""
        summary = self.found.summary
        results = [
            self._score(group.name, estimate, group.in_brief())
            for group in summary.groups
            for estimate in group.pass_hat.values()
        ]
        results += [self._share(share) for share in self.found.judged_shares if share.judge]
        settings = {key: each for key, each in self.config.items() if key not in ("tasks", "data")}
        details = {"benchmark": self.benchmark, "method": summary.method, "settings": settings}
        known = {
            "schema_version": VERSION,
            "evaluation_id": self.id,
            "evaluation_timestamp": self.began,
            "retrieved_timestamp": self.ended,
            "source_metadata": {"source_name": name_of(self.found.folder), **_SOURCE},
            "eval_library": {
                "name": "maseval",
                "version": self.harness,
                "additional_details": _texts(details),
            },
            "model_info": _model_info(self.model),
            "evaluation_results": results,
        }
        return redact(known)

    def _score(self, group: str, estimate: Estimate, details: JsonDict) -> JsonDict:
        metric: JsonDict = {
            "metric_name": estimate.name,
            "metric_kind": "pass_rate",
            "metric_id": f"{self.collection.partition('.')[0]}.pass_hat_k",
            "metric_parameters": {"k": estimate.k},
        }
        if judge := text_or_none(mapping(self.config, "judge").get("model")):
            metric |= _judged_by(judge, "the benchmark's own assertions")
        uncertainty = _uncertainty(estimate.interval, details["tasks"])
        score = {"score": 100 * (estimate.value or 0.0), "uncertainty": uncertainty}
        details |= {"marks": ", ".join(self.found.summary.marks) or None}
        return self._entry(f"{group}{self.kind}.pass_{estimate.k}", metric, score, details)

    def _share(self, share: JudgedShare) -> JsonDict:
        """Return a share that a judge counted, with the error that was measured for it."""
        error = share.calibration or "its error is not measured"
        metric = {
            "metric_name": share.name,
            "metric_kind": "judged_share",
            **_judged_by(share.judge, share.name, judge_error=error),
        }
        score: JsonDict = {"score": 100 * share.raw / share.total if share.total else 0.0}
        if share.corrected is not None and (span := share.corrected.like_these) is not None:
            score["score"] = 100 * share.corrected.share
            score["uncertainty"] = _uncertainty(span, share.labels)
        return self._entry(f"judged.{_folder_name(share.name)}", metric, score, share.to_dict())

    def _entry(self, name: str, metric: JsonDict, score: JsonDict, details: JsonDict) -> JsonDict:
        name = f"{self.collection}.{name}"
        return {
            "evaluation_result_id": name,
            "evaluation_name": name,
            "source_data": {"dataset_name": self.benchmark, "source_type": "other"},
            "metric_config": {**_PERCENT, **metric},
            "score_details": {**score, "details": _texts(details)},
        }

    def rows(self) -> Iterator[JsonDict]:
        """Yield a row for every simulation with a verdict; it counts in pass^1 of its domain."""
        for report in self._reports():
            if (passed := report.outcome.passed) is not None:
                yield self._row(report, passed)

    def _row(self, report: RecordedReport, passed: bool) -> JsonDict:
        name = f"{self.collection}.{report.domain or 'all'}{self.kind}.pass_1"
        said = [message for _, message in report.said()]
        asked = report.query or report.reason_for_call or text(report.task)
        used = [int(sum(getattr(each, side) or 0 for each in report.usage)) for side in _TOKENS]
        facts = {key: getattr(report, key) for key in ("trial", "status", "termination", "cost")}
        return {
            "schema_version": VERSION,
            "evaluation_id": self.id,
            "model_id": self.model,
            "evaluation_name": name,
            "evaluation_result_id": name,
            "sample_id": str(report.task),
            "sample_hash": hashlib.sha256(asked.encode("utf-8", "replace")).hexdigest(),
            "interaction_type": "agentic",
            "input": {"raw": asked, "reference": []},
            "messages": [_message(at, message) for at, message in enumerate(said)],
            "answer_attribution": [],
            "evaluation": {
                "score": float(passed) if report.reward is None else report.reward,
                "is_correct": passed,
                "num_turns": len(said) or None,
                "tool_calls_count": sum(len(message.calls) for message in said),
            },
            "token_usage": dict(zip((*_TOKENS, "total_tokens"), (*used, sum(used)), strict=True)),
            "performance": {"latency_ms": 1000 * (report.seconds or 0.0)},
            "error": str(report.error) if report.error else None,
            "metadata": _texts({**facts, "seed": report.seed}),
        }


_TOKENS = ("input_tokens", "output_tokens")


def _facts(report: RecordedReport) -> tuple[str, str, str | None, str]:
    """Return its beginning, its end in Unix time, the agent's model, and our version."""
    ended = f"{bounds(report)[1] / SECOND:.6f}"
    version = text(mapping(report.benchmark, "packages").get("maseval") or "unknown")
    return report.started_at or "unknown", ended, report.models_of("agent"), version


def _message(index: int, message: RecordedMessage) -> JsonDict:
    calls = [
        {
            "id": text(call.id or ""),
            "name": call.name or "",
            "arguments": _texts(arguments_of(call.function.get("arguments"))),
        }
        for call in message.calls
    ]
    said, role = message.content, message.role or "unknown"
    return {
        "turn_idx": index,
        "role": role,
        "content": said if isinstance(said, str | None) else strict_json.dumps(said),
        "tool_calls": calls or None,
        "reasoning_trace": message.reasoning,
        "tool_call_id": [text(message.call_id or "")] if role == "tool" else None,
    }


def _texts(facts: Mapping[str, object]) -> dict[str, str]:
    """Return details, which are texts in this form; what is not known is left out."""
    return {
        str(key): value if isinstance(value, str) else strict_json.dumps(value)
        for key, value in facts.items()
        if value is not None
    }


def _uncertainty(found: Interval | None, count: int) -> JsonDict:
    if found is None:
        return {"num_samples": count}
    interval = {
        "lower": 100 * found.low,
        "upper": 100 * found.high,
        "confidence_level": found.level,
        "method": found.method,
    }
    return {"num_samples": count, "confidence_interval": interval}


def _model_id(name: str | None) -> str:
    """Return a model with its developer, or where it is known who that is not."""
    return name if name and "/" in name else f"unknown/{name or 'unknown'}"


def _model_info(model: str) -> JsonDict:
    developer, _, name = model.partition("/")
    return {
        "name": name,
        "id": model,
        "developer": developer,
        "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
    }


def _judged_by(judge: str, prompt: str, **details: str) -> JsonDict:
    judges = [{"model_info": _model_info(_model_id(judge))}]
    return {
        "llm_scoring": {"judges": judges, "input_prompt": prompt, "additional_details": details}
    }


def _folder_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.") or "unknown"
