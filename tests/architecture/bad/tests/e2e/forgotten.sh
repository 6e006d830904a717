#!/usr/bin/env bash
# A script that no list names.
