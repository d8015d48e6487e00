"""Help in sections, for commands with many options."""

from collections.abc import Mapping, Sequence

import click


class SectionedCommand(click.Command):
    """A command whose help shows some options below titles of their own."""

    # The title, and the names of its parameters.
    sections: Mapping[str, Sequence[str]] = {}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        titles = {name: title for title, names in self.sections.items() for name in names}
        found: dict[str, list[tuple[str, str]]] = {"Options": [], **{title: [] for title in self.sections}}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                found[titles.get(parameter.name or "", "Options")].append(record)
        for title, records in found.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def in_sections(sections: Mapping[str, Sequence[str]]) -> type[SectionedCommand]:
    return type("SectionedCommand", (SectionedCommand,), {"sections": sections})
