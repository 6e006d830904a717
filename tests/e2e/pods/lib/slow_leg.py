#!/usr/bin/env python3
"""Forwards frames between interfaces A and B, delayed and with losses: slow_leg.py A B MILLISECONDS LOSS%.
Replaces netem, which not every kernel has. Checksums and segments that the sender left to its hardware are kept."""
import heapq
import random
import select
import socket
import sys
import time

SOL_PACKET, PACKET_VNET_HDR, ALL, OUTGOING, HEADER = 263, 15, 3, 4, 10


def open_on(name):
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL))
    link.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    link.bind((name, ALL))
    return link


def main():
    ends = [open_on(sys.argv[1]), open_on(sys.argv[2])]
    delay, loss = float(sys.argv[3]) / 1000, float(sys.argv[4]) / 100
    waiting = []  # (when, number, to, frame)
    number = 0
    while True:
        limit = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        for link in select.select(ends, [], [], limit)[0]:
            frame, sender = link.recvfrom(70000)
            if sender[2] == OUTGOING or random.random() < loss:
                continue
            number += 1
            heapq.heappush(waiting, (time.monotonic() + delay, number, ends[1 - ends.index(link)], frame))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, to, frame = heapq.heappop(waiting)
            try:
                to.send(frame)
            except OSError:
                pass  # the other end is down: lost


main()
