# SPDX-License-Identifier: MIT
"""A headless Chromium, spoken to through two pipes by the DevTools protocol: what the tests of pages need of it."""
from __future__ import annotations

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time
from typing import Any, Dict, List, Optional

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = ("--headless", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu", "--disable-extensions",
         "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-default-apps", "--mute-audio", "--force-color-profile=srgb", "--hide-scrollbars")


def program() -> Optional[str]:
    return os.environ.get("LOCUS_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


class Failure(Exception):
    """The browser did not do what it was asked for."""


class Browser:
    """One window. Messages of the console, exceptions and what the page was not allowed to do gather in `messages`."""

    def __init__(self, patience: float = 60) -> None:
        self.patience = patience
        self.folder = tempfile.TemporaryDirectory(prefix="locus-browser-")
        self.messages: List[str] = []
        self.events: List[Dict[str, Any]] = []
        self.downloads = pathlib.Path(self.folder.name) / "downloads"
        self.downloads.mkdir()
        self.last, self.left, self.session = 0, b"", None
        self.start()
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self.downloads), eventsEnabled=True)

    def start(self) -> None:
        name = program()
        if name is None:
            raise Failure("no browser")
        commands, self.commands = os.pipe()
        self.answers, answers = os.pipe()

        def connect() -> None:  # the browser reads commands from 3 and writes answers to 4
            first, second = os.dup(commands), os.dup(answers)
            os.dup2(first, 3)
            os.dup2(second, 4)

        # Its own sandbox cannot be made by root, or in most containers; the pages are this tree's.
        self.process = subprocess.Popen([name, *FLAGS, "--no-sandbox", f"--user-data-dir={self.folder.name}/profile",
                                         "about:blank"], preexec_fn=connect, close_fds=False, start_new_session=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)

    def close(self) -> None:
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(10)
        except (Failure, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.commands)
        os.close(self.answers)
        shutil.rmtree(self.folder.name, ignore_errors=True)

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def receive(self, until: float) -> Dict[str, Any]:
        while b"\0" not in self.left:
            ready, _, _ = select.select([self.answers], [], [], max(0, until - time.monotonic()))
            got = os.read(self.answers, 1 << 20) if ready else b""
            if not got:
                raise Failure("the browser does not answer" if not ready else "the browser has ended")
            self.left += got
        text, _, self.left = self.left.partition(b"\0")
        message = json.loads(text)
        if "method" in message:
            self.events.append(message)
            self.note(message["method"], message["params"])
        return message

    def note(self, method: str, said: Dict[str, Any]) -> None:
        if method == "Runtime.consoleAPICalled":
            self.messages.append(" ".join(str(part.get("value", part.get("description"))) for part in said["args"]))
        elif method == "Runtime.exceptionThrown":
            details = said["exceptionDetails"]
            self.messages.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Log.entryAdded":
            self.messages.append(said["entry"]["text"])

    def call(self, method: str, **params: Any) -> Dict[str, Any]:
        self.last += 1
        message: Dict[str, Any] = {"id": self.last, "method": method, "params": params}
        if self.session and not method.startswith(("Target.", "Browser.")):
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + self.patience
        while True:
            answer = self.receive(until)
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise Failure(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def wait(self, event: str) -> Dict[str, Any]:
        """The next event of a name, which may have come already."""
        until = time.monotonic() + self.patience
        while True:
            for i, one in enumerate(self.events):
                if one["method"] == event:
                    del self.events[:i + 1]
                    return one["params"]
            self.receive(until)

    def window(self, width: int, dark: bool = False, height: int = 900) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", media="screen",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, page: pathlib.Path) -> None:
        self.events.clear()
        self.call("Page.navigate", url=page.resolve().as_uri())
        self.wait("Page.loadEventFired")

    def run(self, script: str) -> Any:
        """The value of an expression, whose promise is waited for."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise Failure(f"{script}: {result['result'].get('description')}")
        return result["result"].get("value")

    def key(self, name: str, code: int) -> None:
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if name == "Enter" and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code, **text)

    def point(self, x: float, y: float) -> None:
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def download(self, script: str) -> "tuple[str, str]":
        """Name and text of the file that an expression saves."""
        self.events.clear()
        self.run(script)
        name = self.wait("Browser.downloadWillBegin")["suggestedFilename"]
        while self.wait("Browser.downloadProgress")["state"] != "completed":
            pass
        path = self.downloads / name
        text = path.read_text(encoding="utf-8")
        path.unlink()
        return name, text

    def pdf(self) -> bytes:
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"])

    def picture(self, whole: bool = False) -> bytes:
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"])
