#!/usr/bin/env bash
# Script that records noise, measures an allreduce with MPI, predicts it, and compares both. The
# allreduce is between two CPUs of this machine. It needs jitterfly, an MPI (mpicc and mpiexec), two
# CPUs, and a minute; no root.
#
#   bash measured_allreduce.sh [SAMPLES [MILLISECONDS [SECONDS]]]
#
# takes SAMPLES allreduces (2000), MILLISECONDS apart (10), and records the noise for SECONDS (10) before
# and after. All files go to the folder where it is called. docs/tutorials/held_to_measurement.md goes
# through them.
set -euo pipefail
samples=${1:-2000} milliseconds=${2:-10} seconds=${3:-10}
here=$(cd "$(dirname "$0")" && pwd)
[ "$(nproc)" -ge 2 ] || { echo "two CPUs are needed: more ranks than CPUs measure the scheduler" >&2; exit 1; }

${MPICC:-mpicc} -O2 -o measured_allreduce "$here/measured_allreduce.c"

# The noise before and after, as load comes and goes: a prediction from each says what that makes. Exit
# code 1 tells of a busy machine. That is worth knowing, and no reason to stop.
record() { jitterfly noise record -q --cpu 0,1 --seconds "$seconds" --force --out "$1" || [ $? = 1 ]; }
uptime | tee measured_load.txt
record measured_before.noise
overhead=$(${MPIEXEC:-mpiexec} -n 2 ./measured_allreduce "$samples" "$milliseconds")
record measured_after.noise
uptime | tee -a measured_load.txt

# What the ping-pong does not determine is told on standard error.
network=$(jitterfly network parameters -q measured_pingpong.txt --overhead "$overhead")
echo "$network" | tee measured_network.txt
for time in before after; do
  echo "predicted from the noise $time:"
  # shellcheck disable=SC2086
  jitterfly compare-measured -q measured_times.txt --unit us --ranks 2 $network \
    --algorithm recursive_doubling_allreduce --noise "measured_$time.noise,part=each" \
    --picture "measured_$time.png"
done
