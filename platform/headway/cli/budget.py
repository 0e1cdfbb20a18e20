"""`headway budget`: what has been spent of an amount, and when it will be gone at this pace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headway.cli.figures import Amount
from headway.cli.render import emit, output_option
from headway.messages import text

if TYPE_CHECKING:
    from headway.units import Money


@click.command("budget", help=text("cli.budget"))
@click.argument("amount", metavar="MONEY", type=Amount())
@click.option("--team", help=text("cli.budget_team"))
@click.option("--from", "first", metavar="YYYY-MM-DD", help=text("cli.budget_from"))
@click.option("--until", "last", metavar="YYYY-MM-DD", help=text("cli.budget_until"))
@output_option
def command(amount: Money, team: str | None, first: str | None, last: str | None, output: str) -> None:
    """Spend against an amount; refuses nothing."""
    import time

    from headway.cli.session import session
    from headway.controller.budgets import spend

    with session() as where, where.ledger.read() as connection:
        found = spend(connection, where.settings, (amount, team, first, last), time.time_ns() // 1000)
    document: dict[str, Any] = {
        "schema_version": 1,
        "amount": f"{found.amount.amount:f}",
        "currency": found.amount.currency,
        "team": team,
        "from": found.first,
        "until": found.last,
        "spent": f"{found.spent.amount:f}",
        "left": f"{found.left.amount:f}",
        "share": round(found.share, 6),
        "elapsed_share": round(found.elapsed_share, 6),
        "projected": f"{found.projected.amount:f}",
        "runs": found.runs,
        "credits": f"{found.credits.amount:f}",
        "other_currencies": [f"{money.amount:f} {money.currency}" for money in found.others],
    }

    def table() -> str:
        lines = [
            text(
                "budget.spent", spent=found.spent, amount=found.amount, share=f"{found.share:.1%}",
                runs=found.runs, first=found.first, last=found.last,
            ),
            text(
                "budget.pace", elapsed=f"{found.elapsed_share:.1%}", projected=found.projected,
                left=found.left,
            ),
        ]  # fmt: skip
        if found.credits.amount:
            lines.append(text("budget.credits", credits=found.credits))
        if found.credits_apart:
            lines.append(text("budget.credits_apart"))
        lines += [text("budget.other", money=money) for money in found.others]
        return "\n".join(lines)

    emit(output, document, [document], table)
