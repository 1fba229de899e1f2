"""The whole server on SDK 1.x, for who has one: HOLDFAST_MCP1_PYTHON is an interpreter with it.

The client is of 2.x: programs and servers rarely have the same one.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.doors.mcp_parts import called, over_stdio, refused, run

OLD = os.environ.get("HOLDFAST_MCP1_PYTHON", "")  # before the tests' environment is cleaned
SOURCE = Path(__file__).resolve().parents[2] / "src"

pytestmark = pytest.mark.skipif(not OLD, reason="set HOLDFAST_MCP1_PYTHON to try SDK 1.x")


def test_a_client_writes_searches_reads_and_forgets_with_a_server_of_the_old_sdk(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = "import importlib.metadata as m; print(m.version('mcp'))"
    told = subprocess.run([OLD, "-c", version], capture_output=True, text=True, check=True)
    assert told.stdout.startswith("1.")
    start = f"import sys; sys.path[:0] = [{str(SOURCE)!r}]; from holdfast.cli import main; main()"

    async def work() -> None:
        server = over_stdio(OLD, "-I", "-c", start, "--home", str(home), "mcp", mode="legacy")
        async with server as client:
            assert len((await client.list_tools()).tools) == 11
            written = await called(client, "memory_write", text="Anna lives in Lisbon.")
            found = await called(client, "memory_search", query="Where does Anna live?")
            assert "Lisbon" in found["text"]
            (page,) = (await client.read_resource(f"memory://{written['path']}")).contents
            assert "Lisbon" in page.text  # type: ignore[union-attr]
            assert (await client.list_resources()).resources
            assert (await client.list_resource_templates()).resource_templates
            assert len((await client.list_prompts()).prompts) == 2
            assert (await client.get_prompt("flush")).messages
            await called(client, "memory_forget", what=written["ids"][0])
            assert "there is no 'bogus'" in await refused(client, "memory_search", bogus=1)

    monkeypatch.setenv("HOLDFAST_SEARCH_EMBEDDER", "none")
    run(work)
