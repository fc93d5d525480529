// Time: the clock, sleeping, functions to be called later, times that can be received.
#pragma once

#include <thrum/after_func.h>
#include <thrum/clock.h>
#include <thrum/sleep.h>
#include <thrum/timer.h>
