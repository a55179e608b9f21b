"""A browser without a window, driven through a pipe by the DevTools protocol. It needs Chromium and nothing else."""
import json
import os
import select
import shutil
import subprocess
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "headless_shell")


def find():
    """The browser's path, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    def __init__(self, path, folder):
        to_read, to_write = os.pipe()
        from_read, from_write = os.pipe()
        os.set_inheritable(to_read, True)
        os.set_inheritable(from_write, True)
        arguments = [path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--remote-debugging-pipe", "--hide-scrollbars", "--no-first-run", "--user-data-dir=" + folder]
        # The protocol is spoken on descriptors 3 and 4.
        shell = ["sh", "-c", f'exec "$@" 3<&{to_read} 4>&{from_write}', "sh"]
        self.process = subprocess.Popen(shell + arguments, pass_fds=(to_read, from_write), stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.to, self.from_, self.buffer = to_write, from_read, b""
        self.last, self.session, self.events = 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log":
            self.call(domain + ".enable")

    def read(self, until):
        while b"\0" not in self.buffer:
            if not select.select([self.from_], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            part = os.read(self.from_, 1 << 20)
            if not part:
                raise RuntimeError("the browser has ended")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, seconds=60, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + seconds
        while True:
            answer = self.read(until)
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, url, width, scheme, height=900):
        """Shows a page, and returns what it said on the console."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events.clear()
        self.call("Page.navigate", url=url)
        until = time.monotonic() + 60
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self.read(until))
        said = [e["params"] for e in self.events if e.get("method") in
                ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")]
        return [json.dumps(s)[:300] for s in said]

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:500])
        return answer["result"].get("value")

    def close(self):
        try:
            self.session = None
            self.call("Browser.close", seconds=10)
        except (OSError, RuntimeError, TimeoutError):
            self.process.kill()
        self.process.wait(30)
        os.close(self.to)
        os.close(self.from_)
