"""The engine."""

from maseval.compat import former_modules

__path__.append(former_modules(__name__))
