"""Lint rules for autoscalers and related objects, one file per rule family."""

from hypot.lint.report import Finding, LintReport, check

__all__ = ["Finding", "LintReport", "check"]
