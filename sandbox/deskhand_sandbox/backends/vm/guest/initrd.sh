#!/bin/busybox sh
# The first program of the guest: loads what the disk needs, and goes on there.
b=/bin/busybox
$b mkdir -p /proc /sys /dev /root
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
$b mount -t devtmpfs dev /dev
while read -r module; do $b insmod "/modules/$module" || echo "deskhand: $module was not loaded"; done </modules/order
tries=0
until [ -b /dev/vda ] || [ $tries -ge 1000 ]; do $b usleep 10000; tries=$((tries + 1)); done
$b mount -t ext4 /dev/vda /root || echo "deskhand: there is no disk"
$b umount /proc /sys
$b mount --move /dev /root/dev
exec $b switch_root /root /usr/bin/tini -g -- /opt/deskhand/start
