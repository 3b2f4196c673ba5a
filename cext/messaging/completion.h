/* What follows when a send, a receive or a collective is complete: nothing is sent here, and nothing runs. */
#ifndef PSE_MESSAGING_COMPLETION_H
#define PSE_MESSAGING_COMPLETION_H

#include "mailbox.h"

/* The request goes; its partition, or the schedule that it is a part of, may go on. */
void pse_messaging_request_complete(pse_messaging_request *item);

/* A part of a schedule is complete: if it was the last of its round, the schedule waits for its turn. */
void pse_messaging_part_complete(pse_messaging_schedule *plan);

void pse_messaging_schedule_complete(pse_messaging_schedule *plan);

/* The receiver will copy the array, and let the sender know. */
void pse_messaging_await_receiver(pse_messaging_request *item);

/* The array of a send is not needed any more (it may not have been for a moment). */
void pse_messaging_send_complete(pse_messaging_request *item);

#endif
