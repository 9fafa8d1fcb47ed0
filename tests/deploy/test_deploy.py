"""What is in deploy/ is true: it parses, uses only options that a node has, and asks only for metrics that a node serves.

Nothing here needs containers, Helm or a network.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import time
import urllib.request

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm/agentsessions"
NODE = pathlib.Path(os.environ.get("NODE_BIN", ROOT / "target/tested/agentsessionsd"))
START_BOUND = 20


def load(path):
    return yaml.safe_load((DEPLOY / path).read_text())


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The text of a node's metrics after it has started. Its NATS is out of reach, which hinders nobody."""
    directory = tmp_path_factory.mktemp("node")
    ready = directory / "ready"
    command = [str(NODE), "--addr", "127.0.0.1:0", "--journal", str(directory / "journal.db"), "--ready-file", str(ready),
               "--metrics-addr", "0", "--nats-url", "nats://127.0.0.1:9"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + START_BOUND
        while not ready.exists():
            assert process.poll() is None and time.monotonic() < deadline, "the node did not become ready"
            time.sleep(0.02)
        address = next(line.split()[1] for line in ready.read_text().splitlines() if line.startswith("metrics "))
        text = urllib.request.urlopen(f"http://{address}/metrics", timeout=START_BOUND).read().decode()
        process.send_signal(signal.SIGTERM)
        assert process.wait(START_BOUND) == 0
        return text
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def names(served):
    return {re.split(r"[{ ]", line, maxsplit=1)[0] for line in served.splitlines() if not line.startswith("#")}


def asked_for(expression):
    """The metrics in a PromQL expression."""
    return set(re.findall(r"\b(?:agentsessions|process)_[a-z_]+\b", expression))


def page_of_operations():
    return (ROOT / "docs/operations.md").read_text()


def documented(only_on_a_cluster=None):
    """The metrics that the page describes: all, or those that only a journal in a cluster has, or all others."""
    lines = [line for line in page_of_operations().splitlines()
             if only_on_a_cluster is None or only_on_a_cluster == ("FoundationDB engine:" in line)]
    return set(re.findall(r"`((?:agentsessions|process)_[a-z_]+)`", "\n".join(lines)))


def expressions():
    for group in load("alerts.yaml")["groups"]:
        for rule in group["rules"]:
            yield f"alert {rule['alert']}", rule["expr"]
    dashboard = json.loads((DEPLOY / "grafana/agentsessions.json").read_text())
    for variable in dashboard["templating"]["list"]:
        yield f"variable {variable['name']}", variable["definition"]
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield f"panel {panel['title']}", target["expr"]


def test_dashboard_and_alerts_ask_for_metrics_that_a_node_serves(names):
    asked = list(expressions())
    assert len(asked) > 40
    for where, expression in asked:
        missing = asked_for(expression) - names - documented(only_on_a_cluster=True)
        assert not missing, f"{where}: {missing}"
        assert expression.count("(") == expression.count(")"), where


def test_labels_in_expressions_are_those_of_the_metrics(served):
    for where, expression in expressions():
        for name, selector in re.findall(r"\b(agentsessions_[a-z_]+)\{([^}]*)\}", expression):
            labels = set(re.findall(r"([a-z_]+)(?:=|!=)", selector)) - {"instance", "job"}
            has = {label for line in served.splitlines() if line.startswith(name + "{")
                   for label in re.findall(r"([a-z_]+)=", line)}
            assert labels <= has, f"{where}: {name} has {has}, not {labels}"


def test_the_operations_page_describes_every_metric_and_no_other(names):
    described = documented(only_on_a_cluster=False)
    served = {name if name in described else re.sub(r"_(?:bucket|sum|count)$", "", name) for name in names}
    assert served == described


def test_the_operations_page_says_what_to_do_about_every_alert():
    page = page_of_operations()
    alerts = [rule["alert"] for group in load("alerts.yaml")["groups"] for rule in group["rules"]]
    assert alerts and not [alert for alert in alerts if f"`{alert}`" not in page]


def checked(environment):
    """`check-config` under `environment`. A build without FoundationDB refuses its place, and only that."""
    run = lambda given: subprocess.run([str(NODE), "check-config"], env={"PATH": os.environ["PATH"], **given},
                                       capture_output=True, text=True, timeout=START_BOUND)
    done = run(environment)
    if "has no FoundationDB engine" in done.stderr:
        done = run({**environment, "AGENTSESSIONS_JOURNAL": "/var/lib/agentsessions/journal.db"})
    return done


def options():
    """The environment variables that a node knows."""
    shown = subprocess.run([str(NODE), "--help"], capture_output=True, text=True, check=True, timeout=START_BOUND).stdout
    return set(re.findall(r"\[env:\s+(AGENTSESSIONS_[A-Z_]+)", shown))


def test_compose_files_parse_and_their_nodes_accept_their_settings():
    compose = load("compose.yaml")
    nodes = {name: service for name, service in compose["services"].items() if name.startswith("node")}
    assert len(nodes) == 3
    for name, node in nodes.items():
        assert set(node["environment"]) <= options(), name
        done = checked(node["environment"])
        assert done.returncode == 0, f"{name}: {done.stderr}"
    for config in compose["configs"].values():
        assert "content" in config or (DEPLOY / config["file"]).exists(), config
    scraped = {target for job in load("prometheus.yaml")["scrape_configs"]
               for group in job["static_configs"] for target in group["targets"]}
    assert scraped == {f"{name}:9464" for name in nodes}
    grace = int(compose["services"]["node1"]["stop_grace_period"].removesuffix("s"))
    assert grace >= int(compose["services"]["node1"]["environment"]["AGENTSESSIONS_DRAIN_TIMEOUT"].removesuffix("s")) + 5
    for other in ("collector.yaml", "grafana/datasources.yaml", "grafana/dashboards.yaml"):
        assert load(other), other


def test_the_chart_sets_only_options_of_a_node():
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    deployment = (CHART / "templates/deployment.yaml").read_text()
    named = set(re.findall(r"name: (AGENTSESSIONS_[A-Z_]+)\n", deployment))
    named |= {f"AGENTSESSIONS_{name}" for name in values["config"]}
    assert named <= options(), named - options()
    given = {f"AGENTSESSIONS_{name}": str(value) for name, value in values["config"].items()}
    assert checked(given).returncode == 0
    drain = int(str(values["config"]["DRAIN_TIMEOUT"]).removesuffix("s"))
    assert values["terminationGracePeriodSeconds"] >= values["preStopSeconds"] + drain + 5


def test_the_templates_of_the_chart_use_only_values_that_are_there():
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    templates = list((CHART / "templates").iterdir())
    assert len(templates) >= 9
    for template in templates:
        text = template.read_text()
        opened = len(re.findall(r"\{\{-? (?:if|range|with|define) ", text))
        assert opened == len(re.findall(r"\{\{-? end -?\}\}", text)), template.name
        for path in re.findall(r"\.Values\.([A-Za-z.]+)", text):
            at = values
            for key in path.split("."):
                assert key in at, f"{template.name}: .Values.{path}"
                at = at[key]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == re.search(r'\nversion = "(.*)"', (ROOT / "Cargo.toml").read_text()).group(1)


def test_the_templates_of_the_chart_are_yaml_once_their_actions_are_gone():
    for template in (CHART / "templates").glob("*.yaml"):
        lines = [line for line in template.read_text().splitlines() if not re.fullmatch(r"\s*\{\{.*\}\}\s*", line)]
        text = re.sub(r"\{\{.*?\}\}", "x", "\n".join(lines))
        assert list(yaml.safe_load_all(text)), template.name


def test_the_image_has_both_programs_and_the_client_library_of_one_named_version():
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    version = re.search(r"ARG FDB_VERSION=([0-9.]+)", dockerfile).group(1)
    assert version.startswith("7.3.")
    images = {service["image"] for service in load("compose.yaml")["services"].values()}
    assert f"foundationdb/foundationdb:{version}" in images
    rust = re.search(r"ARG RUST_VERSION=([0-9.]+)", dockerfile).group(1)
    assert rust == re.search(r'rust-version = "(.*)"', (ROOT / "Cargo.toml").read_text()).group(1)
    for program in ("agentsessionsd", "agentctl"):
        assert f"--bin {program}" in dockerfile and f"/out/{program}" in dockerfile
