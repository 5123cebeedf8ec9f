/* SPDX-License-Identifier: MIT */
#ifndef LAB_CLOCK_H
#define LAB_CLOCK_H

double lab_seconds(void); /* of a clock that only goes forward */

#endif
