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
from maseval.app.results.examined import RunFindings, examine_run
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

VERSION = "0.3.0"
_UNKNOWN = {"deployment_type": "unknown", "model_availability": "unknown"}
_PERCENT = {
    "metric_unit": "percent",
    "score_type": "continuous",
    "lower_is_better": False,
    "min_score": 0.0,
    "max_score": 100.0,
}
JsonDict = dict[str, Any]


def write_results(recording: Recording, output: Path | None, overwrite: bool) -> ExportedPath:
    """Write ``data/COLLECTION/DEVELOPER/MODEL/ID.json``, and ``ID_samples.jsonl`` beside it."""
    if not recording.recorded:
        raise NotRunError(f"{recording.path} has no finished simulation yet; nothing to export")
    target = output or Path(f"{name_of(recording)}.eee")
    results = _Results(examine_run(recording, ()))
    with atomic_folder(target, lambda: check_free(target, overwrite)) as folder:
        rows = folder / "samples"
        digest, count = hashlib.sha256(), 0
        with rows.open("wb") as file:
            for row in results.rows():
                line = f"{strict_json.dumps(row)}\n".encode("ascii")
                file.write(line)
                digest.update(line)
                count += 1
        name = UUID(bytes=hashlib.sha256(digest.digest()).digest()[:16], version=4)
        place = Path("data", *map(_folder_name, (results.collection, *results.model)))
        (folder / place).mkdir(parents=True)
        detailed: JsonDict = {
            "format": "jsonl",
            "file_path": f"{place.as_posix()}/{name}_samples.jsonl",
            "hash_algorithm": "sha256",
            "checksum": digest.hexdigest(),
            "total_rows": count,
        }
        rows.rename(folder / detailed["file_path"])
        document = {**results.document(), "detailed_evaluation_results": detailed}
        whole = f"{strict_json.dumps(document, indent=2)}\n"
        (folder / place / f"{name}.json").write_text(whole, encoding="ascii")
    left_out = len(results.found.lines) - count
    notes = [f"{count_of(left_out, 'simulation')} without a verdict have no row"] * bool(left_out)
    return ExportedPath(target, notes)


class _Results:
    """The numbers and the rows of a run; ``model`` is its developer and its name."""

    def __init__(self, found: RunFindings) -> None:
        self.found, self.config = found, found.folder.config.values
        support = support_for(found.folder)
        self._version = support.version(self.config)
        self._benchmark = str(self.config.get("benchmark") or "benchmark")
        self.collection = support.public_name or self._benchmark
        agent = self.config.get("agent")
        model, player = (mapping(agent).get(key) for key in ("model", "player"))
        # A scripted agent is nobody's model, and the form asks for a developer.
        named = model or (f"maseval/{player}" if player else agent)
        times, models = [], {text_or_none(named)}
        for report in map(RecordedReport, found.folder.reports()):
            times.append(_moments(report))
            models.add(report.models_of("agent"))
        known = sorted(filter(None, models))
        self.model = _model_of(known[0] if len(known) == 1 else text_or_none(named))
        self._began, self._ended = min(times)[0], max(end for _, end in times)
        self.id = f"{self.collection}/{'/'.join(self.model)}/{self._ended}"

    def document(self) -> JsonDict:
        """Return the aggregated results."""
        summary = self.found.summary
        results = [
            self._result(group.name, estimate, _texts(group.in_brief()), group.tasks)
            for group in summary.groups
            for estimate in group.pass_hat.values()
        ]
        results += [self._judged(share) for share in self.found.judged_shares if share.judge]
        library = {"benchmark": self._version, "method": summary.method}
        return redact(
            {
                "schema_version": VERSION,
                "evaluation_id": self.id,
                **({"evaluation_timestamp": self._began} if self._began else {}),
                "retrieved_timestamp": self._ended,
                "source_metadata": {
                    "source_name": name_of(self.found.folder),
                    "source_type": "evaluation_run",
                    "source_organization_name": "unknown",
                    "evaluator_relationship": "other",
                },
                "eval_library": {
                    "name": "maseval",
                    "version": self._harness(),
                    "additional_details": _texts(library),
                },
                "model_info": _model_info(self.model),
                "evaluation_results": results,
            }
        )

    def _harness(self) -> str:
        report = RecordedReport(next(iter(self.found.folder.reports())))
        return text(mapping(report.benchmark, "packages").get("maseval") or "unknown")

    def _name(self, group: str, k: int) -> str:
        return f"{self.collection}.{group}.pass_{k}"

    def _result(self, group: str, estimate: Estimate, details: JsonDict, tasks: int) -> JsonDict:
        uncertainty: JsonDict = {"num_samples": tasks}
        if (found := estimate.interval) is not None:
            uncertainty["confidence_interval"] = {
                "lower": 100 * found.low,
                "upper": 100 * found.high,
                "confidence_level": found.level,
                "method": found.method,
            }
        judge = mapping(self.config, "judge").get("model")
        metric = {
            "metric_id": f"{self.collection.partition('.')[0]}.pass_hat_k",
            "metric_name": estimate.name,
            "metric_kind": "pass_rate",
            "metric_parameters": {"k": estimate.k},
        }
        if isinstance(judge, str):
            metric["llm_scoring"] = _judged_by(judge, "the benchmark's own assertions")
        return self._entry(
            self._name(group, estimate.k),
            metric,
            {
                "score": 100 * (estimate.value or 0.0),
                "details": details,
                "uncertainty": uncertainty,
            },
        )

    def _judged(self, share: JudgedShare) -> JsonDict:
        """Return a share that a judge counted, with the error that was measured for it."""
        error = share.calibration or "its error is not measured"
        metric = {
            "metric_name": share.name,
            "metric_kind": "judged_share",
            "llm_scoring": _judged_by(share.judge, share.name, judge_error=error),
        }
        score: JsonDict = {
            "score": 100 * share.raw / share.total if share.total else 0.0,
            "details": _texts(share.to_dict()),
        }
        if share.corrected is not None and share.corrected.like_these is not None:
            span = share.corrected.like_these
            interval = {"lower": 100 * span.low, "upper": 100 * span.high}
            score["score"] = 100 * share.corrected.share
            score["uncertainty"] = {"confidence_interval": interval, "num_samples": share.labels}
        return self._entry(f"{self.collection}.judged.{_folder_name(share.name)}", metric, score)

    def _entry(self, name: str, metric: JsonDict, score: JsonDict) -> JsonDict:
        data = {"dataset_name": self._version or self._benchmark, "source_type": "other"}
        settings = {key: each for key, each in self.config.items() if key not in ("tasks", "data")}
        return {
            "evaluation_result_id": name,
            "evaluation_name": name,
            "source_data": data,
            "metric_config": {**_PERCENT, **metric},
            "score_details": score,
            "generation_config": {"additional_details": _texts(settings)},
        }

    def rows(self) -> Iterator[JsonDict]:
        """Yield a row for every simulation with a verdict; it counts in pass^1 of its domain."""
        groups = {each.group or each.name for each in self.found.summary.domains}
        for report in map(RecordedReport, self.found.folder.reports()):
            passed = report.outcome.passed
            if passed is None:
                continue
            group = report.domain if report.domain in groups else "all"
            yield self._row(report, passed, self._name(group, 1))

    def _row(self, report: RecordedReport, passed: bool, name: str) -> JsonDict:
        said = [message for _, message in report.said()]
        raw = report.query or report.reason_for_call or text(report.task)
        used = [int(sum(getattr(each, side) or 0 for each in report.usage)) for side in _TOKENS]
        facts = {
            "trial": report.trial,
            "status": report.status,
            "termination": report.termination,
            "cost": report.cost,
            "seed": report.seed,
        }
        return {
            "schema_version": VERSION,
            "evaluation_id": self.id,
            "model_id": "/".join(self.model),
            "evaluation_name": name,
            "evaluation_result_id": name,
            "sample_id": str(report.task),
            "sample_hash": hashlib.sha256(raw.encode("utf-8", "replace")).hexdigest(),
            "interaction_type": "agentic",
            "input": {"raw": raw, "reference": []},
            "messages": [_message(at, message) for at, message in enumerate(said)],
            "answer_attribution": [],
            "evaluation": {
                "score": float(passed) if report.reward is None else report.reward,
                "is_correct": passed,
                "num_turns": len(said) or None,
                "tool_calls_count": sum(len(message.calls) for message in said),
            },
            "token_usage": dict(zip(_COUNTS, (*used, sum(used)), strict=True)),
            "performance": {"latency_ms": 1000 * (report.seconds or 0.0)},
            "error": str(report.error) if report.error else None,
            "metadata": _texts(facts),
        }


def _moments(report: RecordedReport) -> tuple[str, str]:
    """Return when a repetition began, and in Unix time when it ended."""
    return report.started_at or "", f"{bounds(report)[1] / SECOND:.6f}"


_TOKENS = ("input_tokens", "output_tokens")
_COUNTS = (*_TOKENS, "total_tokens")


def _message(index: int, message: RecordedMessage) -> JsonDict:
    calls = [
        {
            "id": text(call.id or ""),
            "name": call.name or "",
            "arguments": _texts(arguments_of(call.function.get("arguments"))),
        }
        for call in message.calls
    ]
    role = message.role or "unknown"
    found: JsonDict = {"turn_idx": index, "role": role, "content": _text(message.content)}
    found |= {"tool_calls": calls} if calls else {}
    found |= {"reasoning_trace": message.reasoning} if message.reasoning else {}
    return found | ({"tool_call_id": [text(message.call_id or "")]} if role == "tool" else {})


def _text(value: object) -> str | None:
    return value if isinstance(value, str | None) else strict_json.dumps(value)


def _texts(facts: Mapping[str, object]) -> dict[str, str]:
    """Return details, which are texts in this form; what is not known is left out."""
    return {
        str(key): value if isinstance(value, str) else strict_json.dumps(value)
        for key, value in facts.items()
        if value is not None
    }


def _model_of(name: str | None) -> tuple[str, str]:
    """Return the developer and the name of a model, or of a scripted agent."""
    developer, slash, rest = (name or "unknown").partition("/")
    return (developer, rest) if slash else ("unknown", developer)


def _model_info(model: tuple[str, str]) -> JsonDict:
    developer, name = model
    details = dict(_UNKNOWN)
    return {
        "name": name,
        "id": f"{developer}/{name}",
        "developer": developer,
        "additional_details": details,
    }


def _judged_by(judge: str, prompt: str, **details: str) -> JsonDict:
    found: JsonDict = {"judges": [{"model_info": _model_info(_model_of(judge))}]}
    found["input_prompt"] = prompt
    return found | ({"additional_details": details} if details else {})


def _folder_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.") or "unknown"
