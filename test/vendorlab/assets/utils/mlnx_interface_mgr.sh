#!/bin/bash
# Brings an interface of the vendor's drivers up as the system's own configuration has it.
[ -n "$1" ] && [ -d "/sys/class/net/$1" ] || exit 1
