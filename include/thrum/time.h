// Time: the clock, sleeping, functions that are called later, and timers with a channel.
#pragma once

#include <thrum/after_func.h>
#include <thrum/clock.h>
#include <thrum/sleep.h>
#include <thrum/timer.h>
