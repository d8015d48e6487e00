"""Every public name has a docstring with an example, and the examples run."""

import doctest
import inspect

import pytest

import hypot
from unit.cluster.server import Stored, running

WEB = hypot.HPA("deployment/web", max_replicas=10).to_dict()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The kubeconfig of a cluster with an HPA that asks for three replicas."""
    with running(Stored(WEB, status={"desiredReplicas": 3}), tmp_path_factory.mktemp("cluster")) as kubeconfig:
        yield kubeconfig


@pytest.mark.parametrize("name", hypot.__all__)
def test_the_example_of_a_public_name_runs(name, cluster, monkeypatch):
    """With all public names at hand, and a cluster for those who ask one."""
    monkeypatch.setenv("KUBECONFIG", cluster)
    text = inspect.getdoc(getattr(hypot, name))
    public = {each: getattr(hypot, each) for each in hypot.__all__}
    example = doctest.DocTestParser().get_doctest(text, public, name, None, None)
    assert example.examples
    said = []
    doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF).run(example, out=said.append)
    assert said == []
