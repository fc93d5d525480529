// All of thrum except TLS, which is a separate library: <thrum/tls.h>, with the target thrum::tls.
#pragma once

#include <thrum/blocking.h>
#include <thrum/chan.h>
#include <thrum/context.h>
#include <thrum/defer.h>
#include <thrum/dump.h>
#include <thrum/go.h>
#include <thrum/local.h>
#include <thrum/net.h>
#include <thrum/on_stop.h>
#include <thrum/options.h>
#include <thrum/process.h>
#include <thrum/profile.h>
#include <thrum/run.h>
#include <thrum/runtime.h>
#include <thrum/select.h>
#include <thrum/stats.h>
#include <thrum/sync.h>
#include <thrum/time.h>
#include <thrum/trace.h>
