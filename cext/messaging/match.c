/* Matching: a receive meets the oldest message of its sender and tag, or waits for it. */
#include "notes.h"

static void release(pse_mail *mail, const pse_message *message)
{
    const pse_mail_hooks *hooks = &mail->hooks;
    if (message->kind == PSE_CARRIES_MAIL)
        hooks->release(hooks->engine, (pse_block *)(hooks->arena_base + message->value.handle));
    else if (message->kind == PSE_CARRIES_MAIL_POINTER)
        hooks->release(hooks->engine, message->value.pointer);
}

void letter_free(pse_mail *mail, letter *item)
{
    release(mail, &item->message);
    free(item);
}

static pse_mail_side side_of_request(const request *item)
{
    return (pse_mail_side){.partition = item->box->partition,
                           .site = item->site,
                           .kind = item->collective,
                           .extra = item->extra,
                           .type = item->array.type,
                           .bytes = item->array.bytes};
}

/* Whether what came is what was expected. */
static bool agree(const request *wanted, const pse_message *message, const array *came)
{
    bool same_call = wanted->collective == message->flags && wanted->extra == message->extra;
    if (same_call && wanted->array.bytes == came->bytes &&
        (wanted->array.type == came->type || came->bytes == 0))
        return true;
    pse_mail_fault *fault =
        fault_begin(wanted->box->mail, wanted->box, same_call ? PSE_MAIL_MISMATCH : PSE_MAIL_CONFUSED);
    fault->tag = (int32_t)(message->sequence & KEY_NUMBER);
    fault->here = side_of_request(wanted);
    fault->there = (pse_mail_side){.partition = message->edge,
                                   .site = message->site,
                                   .kind = message->flags,
                                   .extra = message->extra,
                                   .type = came->type,
                                   .bytes = came->bytes};
    return false;
}

/* Tell the sender on another rank of the node that its array was copied. */
static void acknowledge(pse_mail *mail, const pse_message *message, uint64_t bytes)
{
    note_taken(mail, message, bytes);
    pse_message answer = *message;
    answer.kind = PSE_CARRIES_MAIL_TAKEN;
    answer.source = mail->hooks.rank;
    answer.edge = message->index;
    answer.index = message->edge;
    mail->hooks.post(mail->hooks.engine, message->source, &answer);
}

/* Both ends are there: move the data and let both know.  `sender` is a request of this rank, or NULL. */
void meet(pse_mail *mail, request *wanted, const pse_message *message, const array *came, request *sender)
{
    if (!agree(wanted, message, came))
        return;
    if (came->bytes > 0)
        memcpy(wanted->array.data, came->data, came->bytes);
    if (sender != NULL)
        send_complete(sender);
    else if (message->kind == PSE_CARRIES_MAIL_REFERENCE)
        acknowledge(mail, message, came->bytes);
    request_complete(wanted);
}

request *take_receive(pse_box *box, uint32_t from, uint64_t key)
{
    struct receives *lane = &box->receives[from % LANES];
    request **link = &lane->first;
    while (*link != NULL && !((*link)->peer == from && (*link)->key == key))
        link = &(*link)->next;
    request *found = *link;
    if (found == NULL)
        return NULL;
    *link = found->next;
    if (found->next == NULL)
        lane->end = link;
    return found;
}

static letter *take_letter(pse_box *box, uint32_t from, uint64_t key)
{
    struct letters *lane = &box->letters[from % LANES];
    letter **link = &lane->first;
    while (*link != NULL && !((*link)->message.edge == from && (*link)->message.sequence == key))
        link = &(*link)->next;
    letter *found = *link;
    if (found == NULL)
        return NULL;
    *link = found->next;
    if (found->next == NULL)
        lane->end = link;
    return found;
}

void post_receive(pse_box *box, request *item)
{
    letter *came = take_letter(box, item->peer, item->key);
    if (came == NULL) {
        item->next = NULL;
        struct receives *lane = &box->receives[item->peer % LANES];
        *lane->end = item;
        lane->end = &item->next;
        return;
    }
    meet(box->mail, item, &came->message, &came->array, came->sender);
    letter_free(box->mail, came);
}

bool file_letter(pse_box *box, const pse_message *message, const array *came, bool copied, request *sender)
{
    letter *item = malloc(sizeof *item + (copied ? came->bytes : 0));
    if (item == NULL)
        return false;
    item->next = NULL;
    item->message = *message;
    item->sender = sender;
    item->array = *came;
    if (copied) {
        if (came->bytes > 0)
            memcpy(item->copy, came->data, came->bytes);
        item->array.data = item->copy;
    } else if (message->kind == PSE_CARRIES_MAIL_SCALAR) {
        item->array.data = &item->message.value;
    }
    struct letters *lane = &box->letters[message->edge % LANES];
    *lane->end = item;
    lane->end = &item->next;
    return true;
}

/* Arrivals from other ranks */

static array array_of(pse_mail *mail, const pse_message *message)
{
    array came = {.type = (uint8_t)message->dtype};
    pse_block *block = NULL;
    switch (message->kind) {
    case PSE_CARRIES_MAIL_SCALAR:
        came.bytes = message->dtype >> 8;
        came.data = (void *)(uintptr_t)&message->value;
        return came;
    case PSE_CARRIES_MAIL_REFERENCE:
        came.bytes = message->value.reference.bytes;
        came.data = mail->hooks.arena_base + message->value.reference.at;
        return came;
    case PSE_CARRIES_MAIL:
        block = (pse_block *)(mail->hooks.arena_base + message->value.handle);
        break;
    default:
        block = message->value.pointer;
        break;
    }
    came.bytes = (uint64_t)block->layout.shape[0] * block->layout.itemsize;
    came.data = mail->hooks.data(mail->hooks.engine, block);
    return came;
}

static void acknowledged(pse_box *box, const pse_message *message)
{
    request *item = box->sends;
    while (item != NULL && !(item->peer == message->edge && item->key == message->sequence))
        item = item->next;
    if (item != NULL)
        send_acknowledged(item, PSE_CARRIES_MAIL_REFERENCE);
}

static void no_memory(pse_box *box)
{
    fault_begin(box->mail, box, PSE_MAIL_MEMORY);
}

void pse_mail_deliver(pse_mail *mail, const pse_message *message)
{
    pse_box *box = box_find(mail, message->tph, scope_of(message->sequence), message->index, true);
    if (box == NULL)
        abort();
    if (message->kind == PSE_CARRIES_MAIL_TAKEN) {
        acknowledged(box, message);
        schedules_turn(mail);
        return;
    }
    array came = array_of(mail, message);
    note_coming(mail, message, came.bytes);
    request *wanted = take_receive(box, message->edge, message->sequence);
    if (wanted == NULL) {
        if (!file_letter(box, message, &came, false, NULL))
            no_memory(box);
        return;
    }
    meet(mail, wanted, message, &came, NULL);
    release(mail, message);
    schedules_turn(mail);
}
