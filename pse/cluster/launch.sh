#!/bin/sh
# What mpiexec calls in the place of ssh:  launch.sh [-x …] HOST COMMAND…  runs a command on a node of the
# emulated cluster: in its network, under its name, in its share of the CPU.  Like ssh it gives the words of
# the command to a shell once more: mpiexec has quoted them for that.
set -eu

while [ "${1#-}" != "$1" ]; do
    shift
done
node=$1
shift

file=${PSE_CLUSTER:?this script is called by mpiexec inside \`pse cluster run\`}/nodes/$node
if ! [ -r "$file" ]; then
    echo "error: the cluster has no node $node; it has: $(ls "${file%/*}" | tr '\n' ' ')" >&2
    exit 2
fi
# Sets name, namespace, group, core and metahost.
. "$file"

if [ -n "$metahost" ]; then
    export PSE_METAHOST="$metahost"
fi

if [ -n "$group" ]; then
    echo $$ >"$group/cgroup.procs"
fi
# A mount namespace is not needed: the caller's has the names of the nodes in its /etc/hosts.
exec ${core:+taskset -c "$core"} nsenter "--net=$namespace" unshare --uts sh -c '
    echo "$0" >/proc/sys/kernel/hostname
    eval "exec $*"
' "$name" "$@"
