"""A headless Chromium, driven through a pipe by its DevTools protocol."""
import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile


class Browser:
    """Chromium with one tab. Every wait is on an event or a condition of the page, up to a minute."""

    def __init__(self, executable='chromium-shell'):
        self._profile = tempfile.mkdtemp(prefix='browser')
        commands_out, commands_in = os.pipe()
        events_out, events_in = os.pipe()

        def place_pipes():
            # The numbers that --remote-debugging-pipe expects; the copies keep either from being overwritten.
            out, into = os.dup(commands_out), os.dup(events_in)
            out, into = (os.dup(fd) if fd in (3, 4) else fd for fd in (out, into))
            os.dup2(out, 3)
            os.dup2(into, 4)

        self._process = subprocess.Popen(
            [executable, '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars',
             '--no-first-run', '--disable-background-networking', '--disable-component-update', '--lang=en-US',
             '--remote-debugging-pipe', f'--user-data-dir={self._profile}', 'about:blank'],
            preexec_fn=place_pipes, close_fds=False, start_new_session=True, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands_out)
        os.close(events_in)
        self._commands = os.fdopen(commands_in, 'wb', buffering=0)
        self._events = os.fdopen(events_out, 'rb')
        self._unread = b''
        self._last = 0
        self._session = None
        self.requested = []  # all addresses that the page asked for
        self.messages = []  # errors of its script, and what its policy forbade
        tab = self.call('Target.createTarget', url='about:blank')['targetId']
        self._session = self.call('Target.attachToTarget', targetId=tab, flatten=True)['sessionId']
        for domain in ('Page', 'Network', 'Runtime', 'Log'):
            self.call(f'{domain}.enable')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # Debian's program is a script that stays: so all of its processes are asked to end, and made to.
        try:
            self._session = None
            self.call('Browser.close')
            self._process.wait(60)
        except (OSError, RuntimeError, subprocess.TimeoutExpired):
            pass
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
        self._commands.close()
        self._events.close()
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method, **parameters):
        self._last += 1
        message = {'id': self._last, 'method': method, 'params': parameters}
        if self._session:
            message['sessionId'] = self._session
        self._commands.write(json.dumps(message).encode() + b'\0')
        while True:
            answer = self._read()
            if answer.get('id') == self._last:
                if 'error' in answer:
                    raise RuntimeError(f'{method}: {answer["error"]["message"]}')
                return answer['result']

    def _read(self):
        while b'\0' not in self._unread:
            more = self._events.read1(1 << 20)
            if not more:
                raise RuntimeError('the browser has ended')
            self._unread += more
        text, self._unread = self._unread.split(b'\0', 1)
        message = json.loads(text)
        method, parameters = message.get('method'), message.get('params', {})
        if method == 'Network.requestWillBeSent':
            self.requested.append(parameters['request']['url'])
        elif method == 'Runtime.exceptionThrown':
            self.messages.append(parameters['exceptionDetails'].get('exception', {}).get('description', 'an exception'))
        elif method == 'Log.entryAdded' and parameters['entry']['level'] == 'error':
            self.messages.append(parameters['entry']['text'])
        return message

    def show(self, width, height, scheme='light'):
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': scheme}])

    def open(self, url):
        self.call('Page.navigate', url=url)

    def value(self, expression):
        """What JavaScript makes of it; a promise is awaited."""
        result = self.call('Runtime.evaluate', expression=expression, awaitPromise=True, returnByValue=True)
        if 'exceptionDetails' in result:
            raise RuntimeError(f'{expression}: {result["exceptionDetails"]["exception"].get("description")}')
        return result['result'].get('value')

    def until(self, condition):
        """Looks until the condition is true, and returns its value, or true for an object."""
        value = self.value(f'''new Promise(done => {{
            const begun = performance.now();
            (function look() {{
                let value = null;
                try {{ value = {condition}; }} catch {{}}
                if (value || performance.now() - begun > 60000) done(value instanceof Object || value); else setTimeout(look, 20);
            }})();
        }})''')
        if not value:
            raise RuntimeError(f'never came about: {condition}\n{self.value("document.body.innerText")}')
        return value

    def write(self, field, text):
        """Types into the field with that ID, in place of what it holds."""
        self.value(f'document.getElementById({json.dumps(field)}).select()')
        self.call('Input.insertText', text=text)

    def press_enter(self):
        for kind in ('keyDown', 'keyUp'):
            self.call('Input.dispatchKeyEvent', type=kind, key='Enter', code='Enter', text='\r',
                      windowsVirtualKeyCode=13)

    def screenshot(self, path):
        picture = self.call('Page.captureScreenshot', format='png')
        with open(path, 'wb') as file:
            file.write(base64.b64decode(picture['data']))
