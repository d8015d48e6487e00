"""Rules over autoscalers and their neighbours, one file per family."""

from hypot.lint.report import Finding, Report, check

__all__ = ["Finding", "Report", "check"]
