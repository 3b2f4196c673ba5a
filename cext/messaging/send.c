/* Sending: to a partition of this rank, to another rank of the node, to another node. */
#include "notes.h"

pse_message message_of(const request *item)
{
    const pse_box *box = item->box;
    return (pse_message){.tph = box->tph,
                         .edge = box->partition,
                         .source = box->mail->hooks.rank,
                         .index = item->peer,
                         .flags = item->collective,
                         .dtype = item->array.type,
                         .sequence = item->key,
                         .site = item->site,
                         .extra = item->extra};
}

static void await_receiver(request *item)
{
    request **link = &item->box->sends;
    while (*link != NULL)
        link = &(*link)->next;
    item->next = NULL;
    *link = item;
}

/* The array is not needed any more (it may not have been for a moment). */
void send_complete(request *item)
{
    request **link = &item->box->sends;
    while (*link != NULL && *link != item)
        link = &(*link)->next;
    if (*link == item)
        *link = item->next;
    request_complete(item);
}

/* The other rank has the array: `kind` says how it got it. */
void send_acknowledged(request *item, uint8_t kind)
{
    note_complete(item, kind);
    send_complete(item);
}

/* To a partition of this rank: straight into its receive, or into a letter. */
static bool send_here(pse_mail *mail, request *item, pse_message *message)
{
    pse_box *box = box_find(mail, message->tph, scope_of(message->sequence), item->peer, true);
    if (box == NULL)
        return false;
    request *wanted = take_receive(box, message->edge, message->sequence);
    bool copied = item->array.bytes <= EAGER_BYTES;
    message->kind = copied ? PSE_CARRIES_MAIL_COPY : PSE_CARRIES_MAIL_REFERENCE;
    note_passing(mail, message, item->array.bytes);
    if (wanted != NULL) {
        array came = item->array;
        meet(mail, wanted, message, &came, item);
        return true;
    }
    if (!file_letter(box, message, &item->array, copied, copied ? NULL : item))
        return false;
    if (copied)
        request_complete(item);
    else
        await_receiver(item);
    return true;
}

static pse_layout layout_of(const array *a)
{
    uint32_t item = type_bytes(a->type);
    return (pse_layout){.dtype = a->type,
                        .ndim = 1,
                        .itemsize = item,
                        .shape = {(int64_t)(a->bytes / item)},
                        .strides = {item}};
}

static void send_far(pse_mail *mail, request *item, pse_message *message, uint32_t rank)
{
    pse_layout layout = layout_of(&item->array);
    message->kind = PSE_CARRIES_MAIL_POINTER;
    note_leaving(mail, message, rank, item->array.bytes);
    await_receiver(item);
    mail->hooks.post_array(mail->hooks.engine, rank, message, item->array.data, &layout, item);
}

/* Whether an array lies in the arena, so that other ranks of the node can read it where it is. */
static bool in_arena(const pse_mail *mail, const array *a)
{
    const char *first = a->data, *base = mail->hooks.arena_base;
    return base != NULL && first >= base && first + a->bytes <= base + mail->hooks.arena_bytes;
}

/* False while the arena is full. */
static bool send_near(pse_mail *mail, request *item, pse_message *message, uint32_t rank)
{
    if (item->array.bytes > EAGER_BYTES && in_arena(mail, &item->array)) {
        message->kind = PSE_CARRIES_MAIL_REFERENCE;
        message->value.reference.at = (uint64_t)((char *)item->array.data - mail->hooks.arena_base);
        message->value.reference.bytes = item->array.bytes;
        note_leaving(mail, message, rank, item->array.bytes);
        mail->hooks.post(mail->hooks.engine, rank, message);
        await_receiver(item);
        return true;
    }
    pse_layout layout = layout_of(&item->array);
    pse_block *block = mail->hooks.pack(mail->hooks.engine, message, item->array.data, &layout);
    if (block == NULL)
        return false;
    message->kind = PSE_CARRIES_MAIL;
    message->value.handle = (uint64_t)((char *)block - mail->hooks.arena_base);
    note_leaving(mail, message, rank, item->array.bytes);
    mail->hooks.post(mail->hooks.engine, rank, message);
    request_complete(item);
    return true;
}

static bool put_off(pse_mail *mail, request *item, const pse_message *message, uint32_t rank)
{
    struct unsent *later = malloc(sizeof *later);
    if (later == NULL)
        return false;
    *later = (struct unsent){.request = item, .message = *message, .rank = rank};
    *mail->unsent_end = later;
    mail->unsent_end = &later->next;
    return true;
}

static void send_inline(pse_mail *mail, request *item, pse_message *message, uint32_t rank)
{
    message->kind = PSE_CARRIES_MAIL_SCALAR;
    message->dtype = (uint16_t)(item->array.type | item->array.bytes << 8);
    if (item->array.bytes > 0)
        memcpy(&message->value, item->array.data, item->array.bytes);
    note_leaving(mail, message, rank, item->array.bytes);
    mail->hooks.post(mail->hooks.engine, rank, message);
    request_complete(item);
}

bool post_send(pse_box *box, request *item)
{
    pse_mail *mail = box->mail;
    uint32_t rank = box->region.owners[item->peer];
    pse_message message = message_of(item);
    if (rank == mail->hooks.rank)
        return send_here(mail, item, &message);
    bool small = item->array.bytes <= COVEN_SMALL;
    if (mail->hooks.is_remote(mail->hooks.engine, rank))
        small ? send_inline(mail, item, &message, rank) : send_far(mail, item, &message, rank);
    else if (mail->unsent != NULL) /* Messages must not overtake. */
        return put_off(mail, item, &message, rank);
    else if (small)
        send_inline(mail, item, &message, rank);
    else if (!send_near(mail, item, &message, rank))
        return put_off(mail, item, &message, rank);
    return true;
}

bool pse_mail_retry(pse_mail *mail)
{
    while (mail->unsent != NULL) {
        struct unsent *item = mail->unsent;
        if (item->request->array.bytes <= COVEN_SMALL)
            send_inline(mail, item->request, &item->message, item->rank);
        else if (!send_near(mail, item->request, &item->message, item->rank))
            break;
        mail->unsent = item->next;
        if (mail->unsent == NULL)
            mail->unsent_end = &mail->unsent;
        free(item);
    }
    schedules_turn(mail);
    return mail->unsent != NULL;
}

void pse_mail_sent(pse_mail *mail, void *token)
{
    send_acknowledged(token, PSE_CARRIES_MAIL_POINTER);
    schedules_turn(mail);
}
