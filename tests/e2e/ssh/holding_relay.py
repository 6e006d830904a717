# A relay between an ssh client and its server. Usage: holding_relay.py PORT SERVER_PORT burst-COUNT|ack-COUNT
#   burst-4: what the server says after the client's fourth packet behind its NEWKEYS comes at once, as soon as the
#            server has been silent for half a second
#   ack-2:   whether the client's kernel acknowledges at once what the server says first after the second packet
# Prints "acknowledged", and "PACKETS packets" when the client has gone. With AES-GCM the length of a packet is not
# encrypted (RFC 5647, 7.3).
import array
import asyncio
import fcntl
import sys
import termios

NEWKEYS, TAG, SILENCE = 21, 16, 0.5
HASTE = 0.02  # Linux puts an acknowledgement off by 0.04 s


class Client:
    """Counts the encrypted packets that one client has sent."""

    def __init__(self):
        self.count = 0
        self.buffer, self.greeted, self.encrypted = b"", False, False

    def take(self, data):
        self.buffer += data
        while self.take_one():
            pass

    def take_one(self):
        if not self.greeted:
            line, end, rest = self.buffer.partition(b"\n")
            self.greeted = bool(end)
            self.buffer = rest if end else line
            return self.greeted
        size = 4 + int.from_bytes(self.buffer[:4], "big") + (TAG if self.encrypted else 0)
        if len(self.buffer) < max(size, 6):
            return False
        if self.encrypted:
            self.count += 1
        self.encrypted = self.encrypted or self.buffer[5] == NEWKEYS
        self.buffer = self.buffer[size:]
        return True


async def all_it_says(reader):
    """Up to a time of silence, or the end."""
    said = b""
    try:
        while data := await asyncio.wait_for(reader.read(65536), SILENCE):
            said += data
    except asyncio.TimeoutError:
        pass
    return said


async def acknowledged_at_once(writer):
    waiting = array.array("i", [1])
    end = asyncio.get_running_loop().time() + HASTE
    while waiting[0] and asyncio.get_running_loop().time() < end:
        fcntl.ioctl(writer.get_extra_info("socket").fileno(), termios.TIOCOUTQ, waiting)
        await asyncio.sleep(0.001)
    return waiting[0] == 0


async def pump(reader, writer, before, after=None):
    try:
        while data := await reader.read(65536):
            data += await before(data) or b""
            writer.write(data)
            await writer.drain()
            if after:
                await after(writer)
    except ConnectionError:
        pass
    writer.close()


async def main():
    port, server_port = int(sys.argv[1]), int(sys.argv[2])
    what, count = sys.argv[3].split("-")
    bursts = [int(count)] if what == "burst" else []
    acks = [int(count)] if what == "ack" else []

    async def relay(reader, writer):
        client = Client()
        from_server, to_server = await asyncio.open_connection("127.0.0.1", server_port)

        async def sent(data):
            client.take(data)

        async def heard(_):
            if bursts and client.count >= bursts[0]:
                return await all_it_says(from_server)

        async def passed_on(to_client):
            if acks and client.count >= acks[0]:
                acks.clear()
                if await acknowledged_at_once(to_client):
                    print("acknowledged", flush=True)

        await asyncio.gather(pump(reader, to_server, sent), pump(from_server, writer, heard, passed_on))
        print(client.count, "packets", flush=True)

    async with await asyncio.start_server(relay, "127.0.0.1", port) as server:
        print("listening", flush=True)
        await server.serve_forever()


asyncio.run(main())
