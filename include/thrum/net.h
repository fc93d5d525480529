// The network: TCP, UDP, Unix sockets, names and signals.
#pragma once

#include <thrum/endpoint.h>
#include <thrum/io.h>
#include <thrum/signals.h>
#include <thrum/socket.h>
#include <thrum/tcp.h>
#include <thrum/udp.h>
#include <thrum/unix.h>
