/* Prints what an OTF2 archive says of calls, messages and collective operations, by the system's own library:
 * another release than the Python package brings along, and called from C, as analysers do.  A line for an
 * event: location, time, what, then names in place of numbers: a region, or partner, members of the
 * communicator, tag, bytes. Used by test_otf2_library.py. */
#include <inttypes.h>
#include <otf2/otf2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 4096, NAME = 1024 };
static char strings[MANY][NAME], members[MANY][NAME];
static uint32_t region_names[MANY], group_of[MANY];
static OTF2_LocationRef locations[MANY];
static int location_count;

static OTF2_CallbackCode on_string(void *data, OTF2_StringRef self, const char *text)
{
    snprintf(strings[self], NAME, "%s", text);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_region(void *data, OTF2_RegionRef self, OTF2_StringRef name,
                                   OTF2_StringRef canonical, OTF2_StringRef description, OTF2_RegionRole role,
                                   OTF2_Paradigm paradigm, OTF2_RegionFlag flags, OTF2_StringRef file,
                                   uint32_t begin, uint32_t end)
{
    region_names[self] = name;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_group(void *data, OTF2_GroupRef self, OTF2_StringRef name, OTF2_GroupType type,
                                  OTF2_Paradigm paradigm, OTF2_GroupFlag flags, uint32_t count,
                                  const uint64_t *ranks)
{
    for (uint32_t i = 0; i < count; i++)
        sprintf(members[self] + strlen(members[self]), i ? ",%" PRIu64 : "%" PRIu64, ranks[i]);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_comm(void *data, OTF2_CommRef self, OTF2_StringRef name, OTF2_GroupRef group,
                                 OTF2_CommRef parent, uint32_t flags)
{
    group_of[self] = group;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_location(void *data, OTF2_LocationRef self, OTF2_StringRef name,
                                     OTF2_LocationType type, uint64_t events, OTF2_LocationGroupRef group)
{
    locations[location_count++] = self;
    return OTF2_CALLBACK_SUCCESS;
}

#define EVENT                                                                                                \
    OTF2_LocationRef where, OTF2_TimeStamp time, uint64_t position, void *data, OTF2_AttributeList *attributes
#define SAY(form, ...)                                                                                       \
    (printf("%" PRIu64 " %" PRIu64 " " form "\n", where, time, __VA_ARGS__), OTF2_CALLBACK_SUCCESS)
#define MESSAGE uint32_t partner, OTF2_CommRef comm, uint32_t tag, uint64_t bytes
#define TOLD partner, members[group_of[comm]], tag, bytes
#define FORM "%" PRIu32 " %s %" PRIu32 " %" PRIu64

static OTF2_CallbackCode on_enter(EVENT, OTF2_RegionRef region)
{
    return SAY("enter %s", strings[region_names[region]]);
}
static OTF2_CallbackCode on_leave(EVENT, OTF2_RegionRef region)
{
    return SAY("leave %s", strings[region_names[region]]);
}
static OTF2_CallbackCode on_send(EVENT, MESSAGE)
{
    return SAY("send " FORM, TOLD);
}
static OTF2_CallbackCode on_receive(EVENT, MESSAGE)
{
    return SAY("receive " FORM, TOLD);
}
static OTF2_CallbackCode on_isend(EVENT, MESSAGE, uint64_t request)
{
    return SAY("isend " FORM " %" PRIu64, TOLD, request);
}
static OTF2_CallbackCode on_irecv(EVENT, MESSAGE, uint64_t request)
{
    return SAY("irecv " FORM " %" PRIu64, TOLD, request);
}
static OTF2_CallbackCode on_collective(EVENT, OTF2_CollectiveOp operation, OTF2_CommRef comm, uint32_t root,
                                       uint64_t sent, uint64_t received)
{
    return SAY("collective %d %s %" PRIu32 " %" PRIu64 " %" PRIu64, (int)operation, members[group_of[comm]],
               root, sent, received);
}

static void read_definitions(OTF2_Reader *reader)
{
    uint64_t count;
    OTF2_GlobalDefReaderCallbacks *callbacks = OTF2_GlobalDefReaderCallbacks_New();
    OTF2_GlobalDefReaderCallbacks_SetStringCallback(callbacks, on_string);
    OTF2_GlobalDefReaderCallbacks_SetRegionCallback(callbacks, on_region);
    OTF2_GlobalDefReaderCallbacks_SetGroupCallback(callbacks, on_group);
    OTF2_GlobalDefReaderCallbacks_SetCommCallback(callbacks, on_comm);
    OTF2_GlobalDefReaderCallbacks_SetLocationCallback(callbacks, on_location);
    OTF2_Reader_RegisterGlobalDefCallbacks(reader, OTF2_Reader_GetGlobalDefReader(reader), callbacks, NULL);
    OTF2_Reader_ReadAllGlobalDefinitions(reader, OTF2_Reader_GetGlobalDefReader(reader), &count);
    OTF2_GlobalDefReaderCallbacks_Delete(callbacks);
}

static int read_events(OTF2_Reader *reader, OTF2_LocationRef location)
{
    uint64_t count;
    OTF2_EvtReader *events = OTF2_Reader_GetEvtReader(reader, location);
    OTF2_EvtReaderCallbacks *callbacks = OTF2_EvtReaderCallbacks_New();
    OTF2_EvtReaderCallbacks_SetEnterCallback(callbacks, on_enter);
    OTF2_EvtReaderCallbacks_SetLeaveCallback(callbacks, on_leave);
    OTF2_EvtReaderCallbacks_SetMpiSendCallback(callbacks, on_send);
    OTF2_EvtReaderCallbacks_SetMpiRecvCallback(callbacks, on_receive);
    OTF2_EvtReaderCallbacks_SetMpiIsendCallback(callbacks, on_isend);
    OTF2_EvtReaderCallbacks_SetMpiIrecvCallback(callbacks, on_irecv);
    OTF2_EvtReaderCallbacks_SetMpiCollectiveEndCallback(callbacks, on_collective);
    OTF2_Reader_RegisterEvtCallbacks(reader, events, callbacks, NULL);
    OTF2_EvtReaderCallbacks_Delete(callbacks);
    return OTF2_Reader_ReadAllLocalEvents(reader, events, &count);
}

int main(int argc, char **argv)
{
    OTF2_Reader *reader = argc == 2 ? OTF2_Reader_Open(argv[1]) : NULL;
    if (!reader)
        return 1;
    OTF2_Reader_SetSerialCollectiveCallbacks(reader);
    read_definitions(reader);
    for (int i = 0; i < location_count; i++)
        OTF2_Reader_SelectLocation(reader, locations[i]);
    int failed = OTF2_Reader_OpenDefFiles(reader) + OTF2_Reader_OpenEvtFiles(reader);
    for (int i = 0; i < location_count; i++) {
        uint64_t count;
        OTF2_DefReader *local = OTF2_Reader_GetDefReader(reader, locations[i]);
        failed += local ? OTF2_Reader_ReadAllLocalDefinitions(reader, local, &count) : 0;
        failed += read_events(reader, locations[i]);
    }
    OTF2_Reader_CloseDefFiles(reader);
    OTF2_Reader_CloseEvtFiles(reader);
    OTF2_Reader_Close(reader);
    return failed != 0;
}
