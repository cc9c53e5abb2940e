from maseval.interface.telemetry.otlp import LangfuseCallback as LangfuseCallback
from maseval.interface.telemetry.otlp import OpenTelemetryCallback as OpenTelemetryCallback
