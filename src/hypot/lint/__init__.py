"""Rules over autoscalers and their neighbours, one file per family."""

from hypot.lint.report import Finding, LintReport, check

__all__ = ["Finding", "LintReport", "check"]
