#!/bin/sh
exec sh "${0%/*}/../lib/scaffold.sh" "${0%/*}"
