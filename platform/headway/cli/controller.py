"""`headway controller`: the loop that starts, watches and ends runs; one works at a time."""

from __future__ import annotations

import signal
import time

import click

from headway.cli.render import say
from headway.messages import text


@click.command("controller", help=text("cli.controller"))
@click.option("--no-standby", is_flag=True, help=text("cli.no_standby"))
def command(no_standby: bool) -> None:
    """Work until Ctrl-C."""
    import logging

    from headway.cli.session import session
    from headway.controller.dispatch import LocalDispatch
    from headway.controller.loop import STEP_SECONDS, Controller, Step, lead
    from headway.controller.reaper import Reaper
    from headway.controller.webhook import Webhook
    from headway.errors import ExternalError
    from headway.runs.store import Recorder
    from headway.spec.files import load_cluster

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    with session() as where:
        settings, ledger = where.settings, where.ledger
        recorder = Recorder(ledger, "controller")
        runners: list[Step] = [LocalDispatch(settings, ledger, recorder)]
        if settings.cluster_path is not None:
            from headway.backends.kubernetes.api import Kubernetes
            from headway.controller.cluster import ClusterDispatch
            from headway.controller.cluster_unmanaged import Unmanaged

            cluster, api = load_cluster(settings.cluster_path), Kubernetes.connect()
            runners = [
                ClusterDispatch(settings, ledger, recorder, cluster, lambda: api),
                Unmanaged(settings, ledger, recorder, cluster, api),
            ]
        steps: list[Step] = [
            Reaper(settings, ledger),
            *runners,
            Webhook(settings.get("webhook"), ledger, recorder),
        ]
        loop = Controller(steps)

        def stop(*_signal: object) -> None:
            loop.stopping = True

        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, stop)

        def wait() -> bool:
            time.sleep(STEP_SECONDS)
            return not (no_standby or loop.stopping)

        try:
            leading = lead(settings, wait)
        except ExternalError:
            if loop.stopping:
                return
            raise
        say(text("controller.leads"))
        loop.run()
        del leading
