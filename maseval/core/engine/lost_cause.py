"""Ends a run early if every remaining task would fail in the same way."""

from maseval.core.exceptions import MASEvalError, RunStoppedError

# A model that has answered before may refuse one request by mistake, but hardly so many.
_IN_A_ROW = 3


class LostCause:
    """Watches how repetitions end; ``error`` is the reason to stop the run, if there is one.

    A refused key, an unknown model or a missing library ends the run at once if the model has never
    answered, otherwise after several such failures in a row.
    """

    def __init__(self) -> None:
        self.error: MASEvalError | None = None
        self._in_a_row = 0

    def note(self, exception: BaseException | None) -> bool:
        """Record how a repetition ended; returns whether the run should stop."""
        if not isinstance(exception, MASEvalError) or not exception.fatal_for_run:
            self._in_a_row = 0
            return False
        self._in_a_row += 1
        worked_before = exception.details.get("answered_before", False)
        if self.error is None and (not worked_before or self._in_a_row >= _IN_A_ROW):
            self.error = exception
        return self.error is not None

    def tell(self, finished: int) -> None:
        """Raise ``RunStoppedError`` if the run was stopped."""
        if self.error is not None:
            raise RunStoppedError(
                f"the run was stopped, as every other task would have failed in the same way: "
                f"{self.error}. Reports kept so far: {finished}; run again when the cause is gone",
                details={"error_type": type(self.error).__name__, **self.error.details},
            ) from self.error
