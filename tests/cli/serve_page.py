"""Uses the page of a server as people do: serve_page.py URL, with what it must show in the environment."""
import os
import subprocess
import sys

from browser import Browser

url = sys.argv[1]
wanted = os.environ


def row(tag, table='tags'):
    """Of that tag, as an object of its cells by their names."""
    return f'''(() => {{
        const row = [...document.getElementById('{table}').rows].find(row => row.cells[0].textContent === '{tag}');
        return row && Object.fromEntries([...row.cells].map(cell => [cell.dataset.name, cell]));
    }})()'''


def same(what, expected, got):
    if expected != got:
        sys.exit(f'{what}\nwanted: {expected!r}\ngot:    {got!r}')


def text(expression):
    return browser.value(f'({expression}).textContent').replace('\u202f', '')


with Browser() as browser:
    browser.show(1200, 900)
    browser.open(url)
    browser.until(row('order'))
    same('IDs in the buffer', '19', text(row('order') + '.Buffered'))
    same('its fill', '95%', browser.value(row('order') + ".Buffer.querySelector('i').style.width"))
    same('a tag without a buffer', '', text(row('invoice') + '.Buffered'))
    same('a limit', '500', text(row('invoice') + '.Left'))
    same('the state of the buffer', 'ok', text(row('order', 'buffers') + '.State'))
    same('columns without failures', False, browser.value("document.body.innerText.includes('Failure')"))
    same('workers', '1024 of 1024 free', text("document.getElementById('supply')"))

    # It follows what is drawn.
    subprocess.run(wanted['DRAW'], shell=True, check=True, stdout=subprocess.DEVNULL)
    browser.until(row('order') + ".Buffered.textContent === '14'")
    same('its fill', '70%', browser.value(row('order') + ".Buffer.querySelector('i').style.width"))

    browser.write('id', '1256557484213448722')
    browser.press_enter()
    browser.until("document.getElementById('decoded').textContent.includes('worker619')")
    same('the time of the ID', True, wanted['TIME'] in text("document.getElementById('decoded')"))
    browser.write('id', '-1')
    browser.press_enter()
    browser.until("document.querySelector('#decoded .bad')")

    browser.write('from', '2022-06-28')
    browser.write('to', '2022-06-29')
    browser.value("document.querySelector('#bounds button').click()")
    same('the bounds', 'first{}last{}'.format(*wanted['BOUNDS'].split()), browser.until("document.getElementById('bounded').textContent"))
    browser.write('from', 'yesteryear')
    browser.press_enter()
    browser.until("document.querySelector('#bounded .bad')")

    for scheme, background in (('light', 'rgb(255, 255, 255)'), ('dark', 'rgb(13, 17, 23)')):
        browser.show(390, 844, scheme)
        same(f'the background in {scheme}', background, browser.value('getComputedStyle(document.body).backgroundColor'))
        same('a page wider than a phone', False, browser.value('document.documentElement.scrollWidth > 390'))

    same('addresses of others', [], [address for address in browser.requested if not address.startswith(url)])
    # The two mistakes above are the only ones.
    same('errors', 2, sum('400' in message for message in browser.messages))
    same('further errors', [], [message for message in browser.messages if '400' not in message])

    subprocess.run(wanted['STOP'], shell=True, check=True)
    browser.until("document.getElementById('problem').textContent.includes('does not respond')")
    same('what was known', '14', text(row('order') + '.Buffered'))

    # A server that wants a token.
    subprocess.run(wanted['START'], shell=True, check=True)
    browser.until("document.getElementById('problem').textContent === 'A token is required.'")
    browser.write('token', 'a-secret-token')
    browser.press_enter()
    browser.until("document.getElementById('login').hidden")
    same('a problem', '', text("document.getElementById('problem')"))
