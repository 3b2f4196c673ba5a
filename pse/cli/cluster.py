"""``pse cluster``: emulated clusters on this machine.  The work is done by ``pse.cluster``."""

import sys
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from pse.cli._options.group import Group
from pse.cluster import Cluster, existing_clusters, find_cluster, rate_text, remove_dead_clusters
from pse.errors import UsageError

DEFAULT_NAME = "cluster"
_COMMAND = "pse.cluster.command"


class Separated(click.Command):
    """A command whose own words end at ``--``: what follows is for whatever it runs."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Set what follows the first ``--`` aside."""
        place = args.index("--") if "--" in args else len(args)
        ctx.meta[_COMMAND] = args[place + 1 :]
        return super().parse_args(ctx, args[:place])


@click.group("cluster", cls=Group)
def command() -> None:
    """Emulate a cluster on this machine: nodes with links and CPUs of their own.

    Nodes are network namespaces; root on Linux only.
    """


@command.command("up")
@click.argument("name", default=DEFAULT_NAME)
@click.option(
    "--nodes", metavar="N[,N…]", default="4", show_default=True, help="How many nodes, of each metahost."
)
@click.option("--rate", metavar="RATE", help="What a node's link carries, each way: 100mbit, 1gbit.")
@click.option("--latency", metavar="TIME", help="What a node's link adds to what it sends: 1ms.")
@click.option(
    "--cpu", metavar="SHARE", help="A node's share of one core (0.25), or `pin`: a core for each node."
)
@click.option("--between", metavar="RATE", help="What a metahost's link to the others carries, each way.")
def up(name: str, **options: Any) -> None:
    """Make the cluster NAME; it stays until `pse cluster down`.

    With two numbers of nodes or more it emulates coupled machines (metahosts). Rate and share may then be
    lists, too: one for each.
    """
    cluster = Cluster(name, **options).up()
    cluster.abandon()
    click.echo(f"{cluster.name}: {cluster.plan.description}")
    click.echo(f"CPU: {cluster.notes}")
    click.echo(f"use it: pse cluster run {cluster.name} -- pse run PROGRAM -p {cluster.plan.nodes}")


@command.command("run", cls=Separated)
@click.argument("name", required=False)
@click.option("-n", "--ranks", metavar="N", type=click.IntRange(min=1), help="Have mpiexec start N of it.")
@click.pass_context
def run(ctx: click.Context, name: str | None, ranks: int | None) -> None:
    """Run a command inside the cluster NAME (the only one, if it isn't named): -- COMMAND.

    COMMAND is `pse run PROGRAM …` (`run PROGRAM …` for short), an mpiexec command, or a script with some of
    these in it; with -n anything that mpiexec can start.
    """
    line = ctx.meta[_COMMAND]
    if not line:
        raise UsageError(
            "no command to run is given",
            help="write it after --, as in: pse cluster run -- pse run PROGRAM -p 2",
        )
    find_cluster(name).replace_process(line, ranks=ranks)


@command.command("down")
@click.argument("name", required=False)
@click.option("--all", "everything", is_flag=True, help="Remove all of them.")
def down(name: str | None, everything: bool) -> None:
    """End what runs in the cluster NAME (the only one, if it isn't named), and remove it."""
    _sweep()
    for cluster in existing_clusters() if everything else [find_cluster(name)]:
        cluster.down()
        click.echo(f"{cluster.name}: removed")


@command.command("list")
def list_clusters() -> None:
    """List the clusters that are up."""
    _sweep()
    there = existing_clusters()
    for cluster in there:
        click.echo(f"{cluster.name}: {cluster.plan.description}")
    if not there:
        click.echo("no clusters")


@command.command("status")
@click.argument("name", required=False)
def status(name: str | None) -> None:
    """Show the nodes of the cluster NAME, and what runs on them now."""
    cluster = find_cluster(name)
    processes = cluster.processes()
    click.echo(f"{cluster.name}: {cluster.plan.description}")
    click.echo(f"CPU: {cluster.notes}")
    table = Table(box=None, pad_edge=False)
    titles = ["node", "address", "link", "processes"]
    if len(cluster.plan.metahosts) > 1:
        titles.insert(1, "metahost")
    for title in titles:
        table.add_column(title, justify="right" if title == "processes" else "left")
    names, rates = cluster.plan.metahost_names, cluster.plan.rates
    for host, name, address, rate in zip(cluster.hosts, names, cluster.addresses, rates, strict=True):
        table.add_row(host, *filter(None, [name]), address, rate_text(rate), str(processes[host]))
    (Console() if sys.stdout.isatty() else Console(width=100)).print(table)


def _sweep() -> None:
    for mark in remove_dead_clusters():
        click.echo(f"removed what a killed command had left ({mark})", err=True)
