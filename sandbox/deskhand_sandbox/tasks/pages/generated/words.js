"use strict";
// Words by language. English: SCOWL (copyright 2000-2011 Kevin Atkinson; free to copy, modify and distribute with
// this notice). The others: names of places, languages, currencies, months and days from Unicode CLDR (copyright
// 2004-2026 Unicode, Inc.; Unicode License v3).
const WORDS = {
  en: `
    abaci aback abandoned abandons abates abbreviate abbreviation abdicating abdications abdominal abet abets
    abided ablaze abler ably abnormally aboard abolishing abominable aborted abreast abridged abridging abscess
    abscond absolve absorbents abstain abstained abstention abstraction abstractions absurder absurdly
    abundantly abuser abysmal abyss academic acceding accelerators accenting accents accept accepting accepts
    accessed accident acclimate acclimating accommodate accommodates accompanist accompanying accomplishes
    accord accordions accountancy accounted accounts accredit accusation accuses accustom accustoms aces aches
    achieve achieves acids acne acorns acquainted acquiescing acrid acrobatics acrylics activists activity
    actress actually acuter acutes ad adapt adaptation adapter addicting addiction adding addition additional
    additions additive additives address addressed addressees adhered adherence adheres adjourning adjournments
    adjustment admired admittedly ado adolescence adopted adopting adorable adrift adroitly advance advancements
    adventure adventurous adverbials adverbs adversaries adversely advertises adverts advises advising advisory
    advocating aesthetic affectation affected affiliation affiliations affirming affirms affixes afflicted
    affronts afield afresh afterlives afternoons again ageing aggravated aggravation aggregate aggregated agile
    aging aglow agonizing agony agreeable aid ail ailment aimless aimlessly aircraft airfield airmail airmailed
    airplane airplanes ajar akin alarming alarms alas albino albinos ales alga alias alibi alienates aligning
    alignments alimony alines alining alkalies alkaline all allegation alleged allegorical alleviates allocated
    allocation allotted allowing allude allures allusion almanac along alpha also alterable alterations
    alternates alternatives altho altogether am amalgamation amateur amateurs amazement amazing ambiences
    ambiguous ambition ambitions amble ambling ambush ambushes amethysts amiably amid amidst amnesia amnesty
    amoeba amoebae amongst amorous amorphous amounted ampersands amphetamine amphibian amphibians amphitheater
    amphitheatre ample ampler amplest amplified amplifiers amputation amputations amusing an anaesthesia anal
    analogue analyses analyst analytic analyze analyzed anathema anatomy ancestral anchorage anchorages
    anchoring ancienter ancientest anemia anesthetic angel angler anglers angrier angry anguishing ankle ankles
    annexation annexations annexed anniversary announcers announcing annoy annoyance annoyed annoying annoyingly
    anomalies anomaly answering answers ant antagonism antagonizing anteater antelopes antennae antennas
    anthologies anthology anthrax antics antipathies antiquating antique antiques antiquing anxiety anxious
    anxiously anythings aortas apathetic apexes aping aplomb apologetic appalling appallingly appalls apparel
    appareling apparels appeals appearance appears appended appendices appendicitis appendixes applicant
    applications applicator applies appoint appointees appointing appointment appoints apposite appraisal
    appraisals appreciated apprehending apprehends apprenticed apprenticing approaching appropriate appropriates
    approved approximate apricot aprons aptitudes arbitrate arbitration arbitrator arbors arcade archaeology
    archbishops archeology archest archive archives arcked ardently ardor ardors areas arena argued argument
    arguments arising arks armament armaments armchair armed armies armories around arouse arousing arranged
    arrangement arrangements arranging arrayed arraying arriving arrogance arrogantly artefacts artichokes
    articulating artifacts artificially artist ascent ascetic ascribed ash ashen ashes ashore ashtrays askance
    aspirant aspiration aspired aspires aspirins assailing assault assembles assembly assents assess assimilate
    assimilated assist assistants associate associative assort assure assureds assuring asterisking asthma
    astonishes astringent astringents astronomers astronomical astutely asymmetry atlases atmospheres atom
    atoned atones atrocities attaching attacked attacker attaining attempted attends attest attested attests
    attiring attracted attractive attracts attributable auctioneer auctioning audibles audience audiences
    audition auditoria augment augmented augments austere author authorizes authorizing autocracies autographed
    autographs automated automates autopsies autopsy autos autumnal avaricious avenge avenue averting aviation
    aviators avid avocadoes avoiding avowing awaits awaken awaking award awed awfuller awoke axing axis axles
    azalea azures babbles babiest back backfired backgrounds backlashes backlogging backs backtracking backwards
    bacon bacteria bacterium baffles bagel bagels bagged baggiest bagging bailing bails bait baited bake
    bakeries bakery balconies balds bales balking balks ball ballrooms bamboos bandaged bandaging bandannas
    banding bandit bandits bandwagons bang banging bani banisters banking bankrupting bankrupts banter baptize
    baptized baptizing barbarians barbecue barbecues barbeques barbiturate bards bareback barer barest bargainer
    barging bark barked barman barons baroque barraged barren barrenest barrettes barricading barter bartering
    baseballs basements bashed basing basked basses bassoon bassoons baste basted bastes basting batched
    bathroom bathrooms battered batting battled bawdier bawdy bawled bawling bawls bayed baying bayoneted bayou
    beacons beadiest beamed beaned bear bearding beards bearing beater beauties beautified beautify beautifying
    beavering beavers bedbug bedsides bedspread beech been beers bees beeswax beetling befalls beggaring
    beginners begrudges begrudging beguiles beguiling begun behaved behaves behavioral behead beheaded behinds
    beige beings belated belfries belied believing belittles belligerents belling bellowing bells bellying
    belonged belongings belongs belt bend benefactor beneficial beneficiary benefits benevolences benevolent
    benighted bequeath bequeathed bequest bequests bereft berets berries beseeches beside besides bestowing
    bests betcha betrayal betrayed betrays bettered bettor beverage bewared bewitching biases biasing bid bidden
    bides bigamist bigger bigoted bike bile bilinguals billboards billed billowed billowing bills binary
    bindings binomial biographer biographical biologically biplane birch birched birdcage biscuits bisected
    bisexual bison bite bites bizarre blabbed blabs blackbird blacken blackens blackest blackheads blackjacked
    blacklist blacklisted blackmail blacktopped blacktopping blaming blanched blanches blander blankest blared
    blasting blaze blazes blazing bleak bleaker blearier bleeds blemish blemishes blemishing blending blends
    blessed blessing blindfold blindingly blinkered blinking blinks blissfully blister blithest blizzard blob
    blobbed blockbusters blogged blonde blooded bloodhounds bloodthirsty blotch blotching blotter blotters
    blouse blousing blowouts blubbered blubbering blubbers bludgeon bludgeons blue blues bluest bluffed bluffer
    bluffs blundered blushed board boarding boasting boasts boating bobs bobsleds bode boded bodices boding bog
    boggle boggled boggles boldly boldness bolted bombardment bombards bombs bond bonded bonus bony book bookend
    bookings bookkeeper bookmarking bookshop bookshops boomeranged boomeranging boomerangs boor boost booster
    boot bootee booth booties boots bootstrap borderline borders boredom bores borne boroughs bosom bosoms
    bossed bosses botanist botanists botched botching both bothered bottle bottomed bottomless boughs bought
    boulder boulevard bounces boundless bouquets bourbon bout bouts bovine bowel bowl bowling box boxcars
    boycott boyfriends boys bracketing brackish braided brains brainstorms brainwashing braises braising
    branched branches brands brash brassier brassiest bravely bravest brawn brawny brazen breading breads
    breadwinner breakable breakables breakdown breakdowns breakfast breakpoints breakthrough breathe breathes
    breathless breezes breezier brick bricklayers bricks brides bridling briefer briefest brightening brightens
    brightest brilliance brilliant brine brinier brink briskly bristled bristles britches broach broad
    broadcasting broadcasts broadsided brocade broil bronze brood brooding brooked brooks broom broth
    brotherhood browbeat brown browned browns browse bruises brutalities bubbles bubblier bucket bucketed
    bucketing buckets bucking buddy budgeted budging buffalo buffaloed buffaloes buffered buffering buffet
    buffoons bug buggiest buggy bugled bugling builder builders built bulge bulged bulges bulks bulldozers
    bulled bulletin bulletining bulletins bullfighter bullfighters bullion bum bummest bumpers bumps bums bung
    bungalows bungled bungler bungling bunk bunked bunkers buns buoy buoyancy buoyant buoys burbles burdensome
    bureaucrat bureaucrats bureaus burial burliest burly burnishing burred burrow burrowed bursar bursted buses
    bush busheling busier busies businessman busybodies busying but butchers butte buttocks button buttonhole
    buttressing buy buys buzzer bystander byway cab cabaret cabarets cabin cable cabling cached caddie caddying
    cadet cages cakes calculating calculuses calendar calendared calibrate calibrating calibrations calk calking
    called callus calm calmest calve camaraderie camouflages campaigned campaigning camped camps canals canary
    candid candidates candies candle candled candlestick candy cane canine cannery cannibals canning cannon
    cannoning cannons canoe canoed canoes canopies canopying cantaloupe cantaloupes canteen canter canters
    canvas canyons capacity caped capering capitalizes capping capriciously caps capsule caption captivate
    captivates captive captives captivities car carat carbons carburetors carcass carcasses careered careers
    careful carelessly cares caribous carnage carnivals carouse carouses carp carpentered carpentering
    carpenters carpeted carps carriage carried carrion carrot carry carrying cars cart cartilages carton cartoon
    cartwheeled cartwheeling carve cases cashed cashew casino castaway castaways caster castes casting castings
    castle castoff castoffs castrated castrates casuals casualties casualty catalogued catalogues catastrophic
    catcall catch catchier catching catchment catchup categorical catered caterpillar caterpillars cathedrals
    catnapped cauliflower causes causing cautioned cautiously cavaliers caviar caviare cavities cavity cavorts
    cawed cc cease ceaseless ceasing ceding celebrates celebrities celibacy cello cellos cellulose census
    centerpieces centipede centralizing cerebral ceremonies ceremony certificates certify certifying chafes
    chagrin chagrined chagrinning chaining chains chairpersons chalet chalices chalky challenge challenger
    challengers chambers champion championed chanced changes channeling chant chanted chap chaperoned chaperones
    chaplains chapping chapt char character chargeable charges charismatics charm charmed chars charters chatted
    chatter chattering chatters chattiest chauffeured chauffeuring cheapest check checked checkers checking
    checkout checks cheeped cheer cheese cheesecloth cheesed cheesing chemicals cherish cherry chess chewier
    chicest chickens chide chiefs childish chili chilis chilliest chimney chimp chimps chin chins chipmunks
    chipping chips chirping chiseling chisels chivalrous chlorine chocolate choose chooses choosiest chop
    choppers choppier choppiest chorals chore chorusing chorussing chose chow chowders christen chronically
    chronicle chubby chugged chummed churns cigar cigarettes cinder cinema ciphering circuitry circulars
    circulate circulations circumcise circumvented circuses citations cited citizens citrus city civilization
    clack clairvoyant clambering clambers clamoring clamps clan clandestine clanked clapped clapper claptrap
    clarinet clarity clashing classical classics classroom clattered clawed clawing cleansers cleared clearer
    clearing clearings cleaves cleaving cleft clefts clemency clenches clicks climactic climax climbed climbing
    clime clinch clinched clinches cling clinging clink clinked clinks clipt clique cliques clix clocked clocks
    clockwork clockworks clod cloister cloistering close closeted closing closure clotting cloudier clouds
    clover clubbing clue clumped clumsy cluster clustering clusters clutter cluttered clxi clxii clxix coached
    coalesced coalesces coalescing coalition coals coarse coarseness coarser coast coat coaxed coaxes cob cobras
    cocaine cocked cockroach cocky coconuts cocooning codded codding coerced coffer cog cognac cogs coincidence
    coinciding coined coining col cold colder coldly coldness collaborates collapse collapsible collate collect
    collected collectives colon colonel colonization colored coloreds colorful coloring colossal colt columns
    combatant combatants combed combination combustible comestibles comical commandeers commander commandos
    commands commemorated commencement commending comment commentaries commenting commercial commercials
    commiserate commiserated commit commitments commodities commodity commodores commons communed communion
    communiques communism compact compacted compactest companies comparative compared comparing compatibles
    compelled compete competences compiler compilers compiling complement completion complicated complication
    component components composing composite composites composting composure compound comprehends compromises
    compulsory computations computed computer computerize concealed concedes concentrates concentric conceptions
    conceptually conciliate conciliation concisely conciser concisest concoction concourse concur concurred
    concurrences concurrent concurring concussions condemnation condemning condensed condenses condiment
    condition conditioning conditions condominium condominiums condones conducive confederacy confederate
    conferred conferrer conferring confers confessing confetti confidants confide confidences configurable
    configure confined confirmed confirms confiscates confounded confront congeal congest congesting
    conglomerate congregate congregated congresses connector connote connoted conquer conquered conquers
    consecrates consecrating consensus consented consenting consents consequence consequences conservatory
    consistency consistently consorted consorting consorts conspicuous conspiracy conspired conspires constancy
    constipation constituents constitute constitutes constraints construe construed consul consultancy
    consultant consulting consults consume consumer contact contacted contagions container containers containing
    contemplate contemplated contemptible contend contender contending content contestants contesting contiguous
    continentals continents contingency continually continuation continuous contortions contorts contoured
    contouring contours contract contractual contrasted contribute contributor contrive contrived control
    controllable controlling controversy convalesce convection convent convents converged converges conversation
    conversions convert convertibles convex conveyance conveyed convicts convincing convoying convoys convulsing
    convulsions cookbooks cookie cooking cooky coolers coop cooped cooperate cooperated cooperating coordinated
    coordinating copes copier copious copped cops copy cording cordoned cordons cores corned cornered corns
    corporal corporation corpus corpuscle correcting corrector correlated correlation correlations corroborate
    corrode corrodes corrosion corrosive corrupt corrupted corruptions corsages corseted cosies cosiest cosmic
    cosmoses costlier costly costs costuming cot cottages cottontail cottonwoods couch couches coughs councilor
    counselled counselor countenance countenances counteracted countryman countrysides coup courage couriers
    coursed court courteously courting courtships cousins covenanted cover covered covet cowardly cowards cower
    cozies crabbed crabbier crabbiest crabby crackling crackpot crackpots crafting craggy cram cramping crania
    cranky cratering crates craving crawfishes crawls craziness creaks cream creamed creamier creaming creases
    creasing creating creators credible crediting cremates crepes crescendos crescents crestfallen cresting
    crevice crewed cribbing criminals crimson crimsoned cringe crinkle crisis crisp crisped crisper crisps
    criteria critical critics critiques croaks crocodile crocuses crony crookeder crookedest crooks crooning
    crops crosser crosses crossest crossings crossroad crowing crowns crows crucially crucified crucifix
    crucifying cruder crudity crueler crueller cruellest cruelly cruises crumbed crumbles crummiest crummy
    crumples crunch crunched crustacean crustaceans crusting crusty crutch crybabies crystal crystalized cubes
    cubic cuddled cuddly cuff cuffed cuisine culled culling culprit cultivation cultured cumbersome cumming cums
    cumulative cunningest cupfuls curbed curbing curdled curdles curdling curds curling curls curly currencies
    curriculum currying cursory curtail curtained curter curtsey curvature customize customizes cut cutter
    cutters cutthroat cyanide cyclone cylinder cynic cynical cyst dab dachshunds daemon daft daggers dailies
    dairy dais dally damaged damages dames damnation damndest damnedest dampest dampness damps dances dandelions
    dandruff dandy dangers dangle dare dark darker dart darts daunt daunted daunts dawdled dawdles dawn dawned
    daybreak dazzling deader deadlocking deaf deafer dealt dearly dears deathbed deaths deaves debatable
    debating debilitate debilities debit debonair debts debugged debugger debugs debunked debunking debuts
    decanter decapitating decayed decays decease deceases deceit deceitful deceits deceived decencies
    decentralize deception decibel decide decides deciding decimals decimated deciphering decoding decorated
    decorates decreases decree decrees decried decry decrying dedicated deduce deducted deductive deeding
    deepened deepest deers defaced defaulted defecated defecating defect defense defensed defenses defensing
    deferred defiance defiles defiling define defined definitive deforming deformity defrauded defrauds
    defrosting deftest defying degenerated degradation degrading dehydrates dehydrating deigns dejected
    dejection delay delays delegate delegates delegating delegation deletes deletion deliberately deliberates
    deliberating delicacy delicatessen delighting delinquents delirious deliver delivers delivery deltas deludes
    deluge deluges delusions delves demagogs demagogues demanding democrat democratic demolish demolished
    demolition demonstrably demoting denominator densities dentistry dents denying department departmental
    departments dependant dependents depending depict depicting depiction depicts deplored deportation
    deportations deporting deportment deposed deposes depositing depot depraved depraving depress depresses
    deprivation depth deputy deride derided deriding derivatives descendant desecrated desecration deserving
    designated designing desisted desists desks desktop desolating despair despaired despicable despot desserts
    destination destined destines detachable detached detachments detail details detain detains detector detects
    detention detentions determinable determinism detest dethrones detonation detonator detonators detoured
    detracts detrimental devastates devastating developer deviates deviled devious devote devout diabetics
    diagnosed diagonal dial dialect dialing dialings dialog dialogue diameters diapering diaries diarrhoea diary
    dice diced dicing dictated dictation dictionaries dictionary did died diesel diet dieting difference differs
    difficulty diffuse diffused digest digestion digitize digitizes digression digs dike dilemma diligence
    diligently dilute diminish dimmer dimmest dimple dimpling dine dingier dinner dinnered dinnering dinning
    dins dip diploma diplomata directest directive directives directness directs direr dirt dirtier dirtiest
    disabling disagreed disagrees disallows disappear disappearing disapproves disarm disarming disastrous
    disbanding disbelieve disbelieved disbursed discern disciple disciplined disciplines disclaim disclaimed
    disclose disclosed disclosure discoloring disconcerts discorded discounting discourages discourse
    discoursing discourtesy discovered discovering discovers discredits discussed discussing disdain diseased
    disengaging disfigured disgracing disgruntled disgusts dishes dishonest disillusions disincentive disinfect
    disinherits disintegrate disks disliking dislocated dislodging disloyal dismal dismayed dismember dismiss
    dismissed dismissive disobeying disorders disparage disparaged disparities dispatch dispatches dispensary
    dispense dispensers disperse dispersing dispersion displeased disposes disposing dispossess disquieting
    disregarded disrepute disrupting disruptions dissatisfies disseminate disseminates dissenters dissenting
    dissents disservice dissident dissonance dissuade dissuading distance distant distil distill distilleries
    distilling distills distils distinctions distinguish distorting distracted distributed distributing distrust
    distrusted distrusts disuses disusing ditch ditches ditto ditty dive dived diverge divergences diversifies
    diversities diversity diverting dividend divines divorced divorces divulged docile docked docking doctoring
    documentary documenting documents dogma dogmas dogmatic dogwood doily doing doleful dolefully dollies
    dolphin domesticate domesticated domestics domicile dominates domination donate donated donation doodling
    doormen dopy dormitory dos dotting doubling doubted doubtful doubts dowdier downgraded downhearted downier
    downiest downing downpour downright downs downtown doze dozens drab draftiest drafting drafts dragging
    drainage dramas dramatically dramatist dramatizes drastically drawback drawbridge drawer drawing drawling
    draws dream drearier dredge dredged dregs dresser dressier dressmakers dressy dribbled driftwood drill
    drilled drinkers drips driveling drivels driveway droops dropped dross drought drove droves drown drowning
    drowsiest drudged druggist drummed drunken drunkenly drunkest drying dryly dryness dual dubbing dubious
    dubiously duchess duckling ducts duded duding dueled dug dugout dugouts dulled duller dulling dulls dully
    duly dumber dumbest dumbfounding dumbfounds dumfound dumps dumpy dunce dungs dunno durable dusk dust dusting
    dustpan dutiful dwarf dwindle dynamic dynamically dynasties dyslexia eagerer eardrums early earner earners
    earthed east eastern eastward eaten eavesdropped eavesdrops ebb ebonies echoes echoing ecologically ecology
    economically economics economies eczema edge edging edibles edict edifices edit editors edits educates
    education eel effervescent efficiencies effort effortlessly efforts egotist eighteen eighteenths eighths
    eightieths ejaculates ejaculating ejaculation ejecting ejections eke elaborations elastic elation elder
    elders election elections electrical electricity electrify electrocutes element elements elephant elevated
    elevation eleven elf eliminate eliminating elliptical elongate elongated elopement elopements eloquence else
    emails emanate emanating embalm embalming embargoing embarking embarrassing embedding embeds embellishes
    embitter embittering emblems embodies embrace embraced embroider embroidered embroideries embroidering
    embroidery emerald emergent eminently emissary emission emotion emotional emotive empathy empire employee
    employment employs empowered empowering emptiest empty enable enact enacted enactment enamelling
    enchantments encircled enclosures encodes encompass encompassing encore encored encouraged encroach
    encroaching encumbrance encyclopedia endangers endearments endemic endemics ending endings endlessly endowed
    ends endurance enemas enforced engagement engagements engineer engines engrave engraves engravings
    engrossing engulf engulfed engulfs enhanced enhancing enigma enjoyable enlarged enlargement enlivened
    enquires enrichment enrol enrolling ensemble enshrine ensues ensures ensuring entailed entailing entangling
    entered entering entertainers entertaining enthusiasm enticed entire entrenched entrenches entrusting
    enumerated enunciating enveloping enviable envoy envoys envy envying epaulet epics epidemics epileptic
    episodes epithets equal equaled equalize equals equate equates equilateral equinoxes equipment equity
    equivalence equivalently eradicates eras erasing erecting erection erects erode erodes errant erred error
    erstwhile erudite eruption eruptions erupts escalated escalators escorting esoteric especial especially
    essay essaying establish establishes estate esteemed etched etching eternal ether eulogies eulogize
    eulogizing eulogy euphemisms eureka evacuating evaluated evaluating evaluations evangelistic evangelists
    evaporate evaporating eve evenings evens eventual eventuality evicted evictions evidenced eviler evilest
    eviller evillest evolving ewe ewes exacerbates exact exalts examining exampling exams exasperating excavated
    excelled excellence excepting exceptions excerpt excessive excessively exchange excises excited excites
    excusable excusing execution executives executor exemplified exemplifying exemption exert exerting exhale
    exhales exhausts exhibit exhibition exhilarate exhilarated exhilarates exhilaration exhortation exhorting
    exhumes exist existence existing exit exiting exits exonerated exonerating expanding expansions expansive
    expecting expedient expedition expeditions expendable experience expert expire explanations explanatory
    expletives explicable explicitly exploded exploited explosions explosive export exporting exposed exposure
    expounded expressed expressively expressways extend extensively exterior exteriors exterminates externals
    extincts extinguisher extolling extorts extract extracted extradited extraditions extrapolated extravagant
    extravert extricate extrovert extroverts exudes exuding exult exultation eyeballed eyed eyeing eyes
    fabricates fabrications faced faceless facial facing facsimileing facsimiles fact faction factorial
    factories factors faculty fades faeces faggots fagots fail failure fainter faints fairer fairest faithful
    faithfuls fake fakes falcon falls falsehood falsehoods falser falters fame famed familiarity familiarize
    familiarizes family famines fanatic fanatical fancier fancies fanfare fanned farthest fascinate fascinating
    fashion fast fasteners fastenings fasting fasts fatalistic fatally fates fathered fatherlands fathomed
    fathoms fatigued fatiguing fating fattened fatter fattiest faultiest faunae favorites fawning fazes feared
    feathered feathery feats federalist feebler feedback feeding feign feigned feint feinting felling felon
    felted felts feminism fen fencing fend fends fermenting fern ferreting ferrets ferries fertilizer fervor
    fester fetching fetid fetish fetuses feudal feuded feverish fewest fezes fib fiddle fiddlers fidelity
    fidgety fields fiend fierce fierceness fiesta fighter figments figures filament filch filching filet filets
    fillets fillies filling filly film filtering filthier finality finally finance finding finds finesses finger
    fingered fingernail fingerprint fingers fingertip finish finishes fir firearm fired firefly firemen
    fireplace fireproofs fires firing firm firmly firms fist fists fitful fitter fittest fix fixed fixes fixing
    fixtures fizzles fizzling fizzy flabby flakier flaky flamboyance flame flaming flamingos flanking flap flare
    flares flashlight flask flats flatten flattened flatterer flatting flaunted flavored flavoring flaw flawless
    flawlessly flecking flee fleece fleeing fleeted flesh fleshes flex flexing flickering flickers flied fliest
    flightless flights flinch flinched flinging flip flipper flippers flips flirt float floating flocking flocks
    floods floors flop flopping florae floss flossing flotilla flounced flounder flourished flower floweriest
    fluctuating fluff fluffed fluffier fluffiest flukes flunkies flunks flurries flushing fluxed fluxes fly
    flyer flying foal foaling foamed focus focused focusses fodder fogey foggy fogies fogs foist folder follows
    fomented fondle fondles fondling foolhardiest fooling fools footed foothill footing footnoted footnotes
    footpaths footprint foots footstools foray foraying forays forbade forborne forced forcibly fording
    forearmed forebodes forecasted forefingers forefront forefronts foregoes foregoing foregone foreheads
    foreign foreleg foreman foresaw foreshadow foreswearing foretastes foretells forever forewarn forgetful
    forgetting forked forking formation formatted formidable formulated formulates formulating formulation
    formulations forsake forsakes forsaking forsook forthcoming fortitude fortnight fortuitous forums forward
    forwent fossilized fossils foster foundered foundry fount founts fours fowled fowling fracas fraction
    fractured fractures fragile fragrant frail frailest frailty frame franc francs frankly frantically
    fraternizes fraternizing frauds fray frayed fraying freak freaks freeing freely freight freighter freighters
    french frenzied frequency frequented frequentest frequenting freshen freshens freshest freshly freshwater
    friar friendlier friendly fries frieze friezes frigate fright frigid frigidity frill frilly frisked frisks
    frisky fritters frivolous fro frog frogs frolic frolicking from frontage frontal frontiers frost frostbiting
    frosted frostier frosting frothed frugal fruitiest fruity frustrate frustrates frustration fuelling fuels
    fulcrums fulfilled fulfillment fulfills fulfilment fulfils fulled fulness fumble fumed fumigation fuming
    functional functionally functioned functioning funeral funneled funnels funnest furiously furled furling
    furlong furlongs furloughed furnished furnishes furnishing furor furors furrier furring furrowing furthering
    furthermore furthest fuselage fuselages fuses fusses fussier fussiest futile futures fuzing fuzzes fuzzy
    gabbing gadget gages gaiety gaily gained gaining gains gale gales galled galleries galley galleys gallivant
    galloping gallows gallowses gals galvanized gamblers games gaming gamma gangling gangway gangways gaping
    garage garaging garb garbed garbled garbles garbling garden gardened gargling garnets garrisoned gaskets
    gasped gating gaudy gauge gauged gaunter gauntest gauntlets gave gavel gawked gawks gawky gayest gazelles
    gazette gears gee gel gelded gem genealogies genealogy genera generalized generalizes generosities
    geneticist geneticists genetics genres gentleness gentles gentlest gentling gentry geraniums germicide
    germicides gestation gestures gets geysers giants gift gifting gigging giggled gigs gilding gill gilt gimme
    gingham girders girdle girdles girlfriend girlhoods gizzards glacier gladdened gladder gladiator glads
    glamor glamorized glamorizes glamourize glamourizing glances glancing glands glared glares glassed glazed
    gleamed gleaning glens glide glider glides gliding glimpsing glints glistening glitters global globule
    gloomy glorious glosses glossier glossiest gloving glow glowed glucose glue glueing glues gluing glum gnaw
    gnawing gnawn gnu gnus goaded goalie goalies goalkeeper goals gobbed gobs godmothers goggles goldsmith
    goldsmiths golfers gondola gonged goodby goodie goodies goofiest goofy gooiest goosed gophers gorged gorier
    gossamer gouge gouging gourmets governed governing governors gown graceless graces gracing graciously grader
    graduated graduates graffiti grain gram grammatical grams grander grandest grandfather grandparents grandson
    grandstands grants graphical graphics grater graters gratifies gratifying gratings gratuities grave graved
    gravelled gravels gravely graver graveyards gravitated gravitating gravity grayed grayer graying graze
    grazes greases greasiest greasing greats greenback greenbacks greenhouse grenade greyer greyest greys
    griddles grief griefs grieves grim grimacing grimy grinder grip griped griping gripped grits grittiest
    grizzled grocery grooming groovier groovy grossed grotesque grottos grouches grouching grouper grouping
    grove grovelled grower growl grows growth growths grub grubby grudging gruel gruffest grumbles guaranteed
    guarantees guard guardian guards guerrilla guerrillas guess guesses guessing guffaws guide guideline
    guillotining guiltless guitar guitarist guitars gulfs gullible gulling gully gulp gulped gummy gunman gunned
    gunner gunners guns guppies gushed gusts gutter gutting gynecology gyrated gyroscopes ha habits habitual
    hacked hackneyed haggard haggles hailstone hair hairdresser haired hairs haler hales halfway halibut haling
    hallmark hallmarks haloes halted halter halts halve hamburger hamlets hammered hampering hampers hand
    handbags handcuff handed handful handicapped handicraft handicrafts handlebar handouts handrail hands
    handsome handy hang hangings happier harangued harangues harassed hard harder hardier hardship hardwoods
    hare harem hares harmed harmless harnessed harnesses harpooning harpoons harrowing harshest harshness
    harvested harvesters hashing hassle hastier hatefully hatreds hatted haughtiest haughtily haul hauled having
    havoc hazard hazarded haze hazes he headache header headfirst headings headlines headlining headlong
    headrest headrests heads healthcare healthful heap heaps heard hearse heartache heartbeat heartburn hearts
    heated heaters heath heats heaven heaviest heavily heavyweight heckled heckler heel heeled heifers heighten
    heightened heights heir helicopters heliport helmet helped helper helplessly helps hemming hemoglobin hence
    hens heralded herbivorous here hereafter heredity herein heretics heritages hernias heroes heroin heros
    herrings hes hesitancy hesitant hesitate heterosexual heuristic hexagonal hey heydays hiccuping hicks hid
    hideaway hiding hierarchical hierarchy hieroglyphic highbrow highways hijacked hijacks hikes hiking
    hillbilly hilly hilt hilts hind hipped hippopotamus hippy hips hiring histories hitched hitchhiker
    hitchhiking hitching hoarder hoax hobnobbing hobnobs hoboes hock hocking hoed hoeing hoist hold holds holdup
    holed holiday hollowest holocaust homages homeless homesick homesteaded homicidal homogenizes honeymoons
    honeys honeysuckles honk honor honorary hood hooded hoodlum hoodlums hoodwinked hoof hook hooked hooking
    hooping hoorahs hooted hoots hoped hopeful hops hopscotch horded hording hornets horny horrible horrified
    horseradish hoses host hosteling hostesses hostility hot hothead hounding hourly hours hovers howled hubbubs
    hubs huff huffing hugely hugest hullabaloo hullabaloos hulls humane humanest humanism humanities humanize
    humble humbles humbly humdrum humid humidify humidifying humidity humiliate humiliates humiliation
    humiliations hummingbird humor humoring humorist humorists hums hunchbacks hunk hunks hunt hunters hunts
    hurdles hurrahed hurrahing hurrayed hurrays hurried hurries hurting hurtled husked huskies huskiness hustled
    hut hutches hyacinth hyacinths hydroplaned hyena hymnals hypertension hyphenated hyphened hyphening
    hypnotized hypocrisies hypocrites hypotenuse hypothesize hypothesizes hysterically ice icicle icier id
    idealize idealizes identical identifiers identify identifying idiom idioms idiot idles idlest idolize
    idolizing idols if ifs igloo ignited ignorant iii ikons illicit illiterate illustrated imaginable imaginary
    imaginative imagines imbalances imbedding imitator immeasurably immediately immersions imminent immobile
    immobilizes immoralities immorality immortality immortals immovable immune immunized immunizing imp impaled
    impales imparted imparting imparts imperative imperatives imperfection imperials impersonated impersonates
    impervious impinge impinges implacable implausible implicates imply implying impolite importantly impostors
    impoverishes imprecise impregnable impregnates impresses impressing imprinted imprison impromptus
    impropriety improve improves improving improvising impudence impulses impulsively impunity impurities
    inaccessible inaccuracy inaction inapplicable inbuilt incantation incantations incapacity incarcerated
    incarnated incarnation incense incensing incessantly inching incidence incidences incinerates incinerators
    incisions incisive incisor incisors incitement inclination inclining include includes inclusion inclusive
    incomparable incompatible incompetent incorporate incorporates incorrect incorrectly incriminated incubates
    incumbents incurables incurred incurring incurs indecency indecent indefensible indelicate indent
    indentation index indexed indicated indictments indistinct individually individuals indoctrinate inducing
    indulged indulgent ineligible inequalities inescapable inevitable inexorably inexpensive inexperience
    inexplicable infantry infatuations infect infecting infections infernos inferring infestations infesting
    infidelities infiltrate infinity inflammable inflections inflicting influencing info informant informants
    informing infrared infringing infuriating ingested ingesting ingrained ingraining ingrains ingratitude
    ingredient inhabitant inhabitants inhabits inhaling inheritances inherits inhuman initialed initiating
    initiative injecting inkiest inkling inklings inky inlet inlets innings innkeepers innocuous innovation
    innumerable inoculates inoculating inoperative inputs inputting inquires inquiring insanely insanest
    inscription inscrutable insecticides insecure insecurities insert inserted inserts insight insincere insipid
    insolence inspecting inspection inspections inspectors inspirations inspire installs instants instead instep
    insteps instil instills institute institutes institution instructions instructor insurance insure insurers
    insurrection intelligibly intends intense inter interacts interceding intercepted intercoms interest interim
    interior interjected interluded intermarry intermediary intermediate interminably intermingled intermingles
    internally internes interning interposing interrogates interrupt interrupting intersects interspersed
    interstate interval intervals intervene interviewers interweaves interwoven intestine intimating intimation
    intimidate intimidates intimidation intolerance intonation intoxicate intrepid introduced introduces
    introduction introvert intruder intruding intrusive invade invalid invalids invented inventories inventors
    inverted inverts investigated invigorate invigorates invigorating invisibly invitations invocations invoke
    invoking ion iridescence iris irked irks ironed irons irradiated irradiates irrelevance irrelevances
    irresistible irrespective irrevocable irrevocably irritability irritants irritates irritation isles
    isolation issue issuing isthmi itched itches items itinerants its itself jabbed jabbering jabbing jabs
    jackdaw jacking jackknifes jagged jaguar jangle jangles jangling jar jarring jaundices jaunted jaunting
    javelin jaw jawing jaws jaywalk jaywalked jeans jell jelled jellyfish jellyfishes jeopardy jersey jerseys
    jesters jet jets jetties jetting jeweling jewelled jibed jigging jiggling jingle jobbed jobs jog jogs joined
    joining joint jointed jointing jokers joking jollied jolting jostled jot jotting journeyed joyed joyfullest
    joyous jubilation judgment judicially judiciary judiciously juggler juggles juicier juicy jumbos jumped
    jumpiest jungles junipers junk junta juntas jurisdiction jurors just justifies juvenile juveniles
    kaleidoscope kangaroo karat keel keeled keen keened keep keeping keeps kept kernels kettles keyboarding
    keyhole keywords kickbacks kidnaping kidnappers kidneys killed killing killings kilns kilo kilogram kilt
    kindergarten kindled kindling king kinkier kinkiest kit kitchenettes kite kittens knapsacks kneecapping
    kneed kneeled knifes knighthood knighting knob knobs knocker knockers knotty knowings knuckling koshered
    kudos labeled labelled labels laboratories laboratory laborers laborious labs lacerate lacerates lacerating
    lack lacking lackluster laddered ladled ladles ladylike lager lags lair lambing lamented lampooned
    lampooning lancing lander landings landlord landslide languor languorous lapels lapsed lapses lards largely
    larynges larynx larynxes lash lashed lastly lasts latch latched later lateral lateralled lathes latter lauds
    laughing lavatory lavender lawmakers lawn lawyer laxative laxer laxity layers laymen lazied lead leaded
    leads leaf leafier leafletted leafy league leaks leaky leaned leapfrogging learns leased leashes leasing
    leathery leave leaves lecture lectured lectures lecturing leech lefter legend leggin legible legibly legions
    legislate legislated legislation legislative legislature legitimate legume legumes leisure lemon lengthiest
    lengths leopard leotards leper leprosy lesion lesions lessening letdowns lethal lethargic letting level
    leverage leveraging levered levied levies lewd lewder lewdest lexica lexical lexicons liability libeling
    libels liberalize liberalized liberalizes liberate librarians licence licencing license licensing lie lied
    lieu lieutenant lifeboat lifeguards lifelong lifetime lifetimes lighthouse lightly lightness lightninged
    lightweight lii liked likelier likenesses likens liking lilt lilted lilting lily limbo limericks limestone
    limited linchpins linear linguistic linked linking lint lioness lions lip lipstick lipsticked lipsticking
    lipsticks liquefies liquidating liquidation liquor liquoring lisped lisps listens listing literally literate
    liters litter littler littlest liturgy liveable livelier livelihoods liveliness lives livestock livings
    llamas loafer lob lobbed lobbied lobbyists lobsters locale location lock locksmiths lodger loftier loftiness
    lofting lofts logarithm logical loincloth loll lollypop loneliness lonely longhand longing longish looking
    looneyier loons loophole loopholes loosed loosen loosens loots lorded losers losses loth louder loudspeaker
    loudspeakers lounged lounges lounging louses lousy lover loving lowlier loyalties lubricate lubricated
    lubricating lucks lucky lucrative lug lugged lugging lugs lumber lumbering lumberjack luminaries luminary
    lumping lumpy lunacies lunched lunches luscious lushes lushest lust lusted luster lustier lustrous lutes
    luxuriant lvii lxiv lxix lxvi lxvii lynch lynched lynches lynchpins macabre macaronies macaronis machete
    machined machines machinist mackerels macroscopic mad maddened madder madly madness magician magicians
    magnanimous magnificent magnifies magnifying magnitude magnitudes mahogany mailbox maiming main mainframes
    mainly maintain maintaining major makes makeups maladjusted malice malicious maliciously malign mallet malt
    malted malting maltreating malts mamas mammals manage manageable manager mandatory mandolin maneuvering
    mange manholes manhood maniacs manias manicure manicured manipulation mannequin mannerism mannerisms manning
    manors mans manslaughter mantelpieces mantels mantled mantling manuring many mapper mar marched marching
    margins marigold marina marinate marines marked marking marks marksman marksmen marooning maroons marred
    marrow marsh marshaling marshalling marshes marsupial mascara mascaras masculine masculines masked
    masqueraded masquerades masquerading massages massing massively mast mastering masts mat matador matchbooks
    matchmaker material math matrices matrimonial mattered mature mauled maximizes mayhem mayor mayors mean
    meaner meant measliest measurable measured mechanism mechanizes mechanizing medal meddled meddlers mediate
    mediator mediators medication medicines mediocrity meeker megabytes megalomaniac megaphone megaphones
    mellowed mellowest mellowing mellows melodramas melon melons membership membranes memento memo memorable
    memorials memories mends menials menopause mental mentioned mentions mentors menu meow merchandize
    merchandizes merciless mercy merely meres merest merger mergers meriting merriment messages messed
    messengers messes meteors meter meters methods metropolis mewed microbe microfiches microfilms microwaved
    midday midriff midstream midwived mightiest mighty migraines migrate migrated migrations miking mild
    mildewed militaries military militated milker milkiest milkman milled millimeters milling millionaire
    millionths millisecond mills mimes mimicked mindedness minding mine mined miners mines mingles minibus
    minimal minimized minimizing minimums minions ministries mink minor minors minstrel mint minute minuter
    mirroring misbehavior miscarriages misconstrues misdemeanors misdirected misdirection miser misfit
    misfortune misgivings misguiding misinformed misjudged mislead misleading mismatches misplacing misprint
    misprinting misprints misreads miss misshapen mission missionaries missionary missions misspelled mist
    mistaken mistaking misted mistier mistletoe mistook mists mite mitigating mix moans mob mobbing mobility
    mobilize mobilizing moccasin mockery model moderating moderator modern modernity modes modifying modulation
    moist moistened moister molasses mold molded molding molests mollify molten moments momma monasteries
    monastics monetarism mongrels monies monkeyed monochrome monogram monogrammed monopolize monstrosity
    monstrous monthlies monthly months monumental moody moonbeam mooned mooning moonlight moons mooring morale
    moratoria moratoriums morgue morgues morn morning morons morsels mortal mortally mortar mortaring mortifying
    mortuary mosaics mosque mossier mothballed mothballs mother motherhood mothers moths motivate motley motleys
    motorizing motto mottoes mounded mounting mourned mousses mousy mouth mouthed mouthpiece mouths moveables
    movies much muck muddier muddiest muddle muddled muddles muddling muff muffin muffler muggy mulled mulls
    multi multiple multiples multiplied mummies mummy municipal municipals murals murder murdered murderers
    murdering murders murmurs muscled muse mused muses museum mushed mushes mushiest mushroom mushrooms musing
    mustang mustard mustering mustier mustiest mutant mutate mutation muted mutilates mutinying mutter mutts
    myopic mystic myth nab nagging nags nailed nailing namely naming nappies napping narcotic narration narrowed
    narrowest narrowing narrowly narrowness narrows nastiness nasty national nationalism nations nationwide
    native nattiest naturalists naught naughtier naughtily naughtiness navel navigate navigation navigators
    nearer nearest nearing nearsighted neatest necessarily necessities necessity neck neckerchiefs necklace
    needs negated negates negating negation negations neglectful negligees negligently negligs negotiate
    negotiations neighs neophyte neophytes nephew nerving nestle nestled nestles netted netting nettling
    networks never newcomers newly news newsagents newsletter newsstand newton nibble nibbling nice nicest
    nicotine nieces nightclubbed nightgowns nightingale nightmare nights nighttime nimble nincompoops nines
    nineteenth ninnies ninny ninths nippier nipping nipple nite nitrated nitrates nitrating nobleman nobles
    noblest noblewoman nod nodding nods nominate nominatives nonetheless nonresident nontrivial nonviolence
    noodled noodling northerlies northern northwest nose nosebleeds notables notches notching note notebook
    notes noticeably noticeboards notifies notoriety notorious notoriously nouns nourish nourished nourishes
    novelists novelty now nowhere nuance nucleuses nude nudest nudged nudity nuisances nullifying numb number
    numbest numerators nursery nurturing nutcracker nutrients nuttier nutting nuzzles nylon oaks oar oases oasis
    obediently obesity obeys obfuscation obligations oblique obliterating oblivion obscenity obscures obscurest
    obscuring obscurity observant observation observers obsess obstructions obtuse occupies occur occurrence
    ocean octagons octopi oculars odors offed offended offenders offending offenses offensives office officially
    officious offset offsets offstage often ogling ogre oil oilier oiliest okays okras olden omens omitted
    omnibus omniscient ones onions onlookers onwards oozed opaque opaques openest opening operand operas
    operative operatives operators opponents opportunists opposed opposition oppresses oppressing oppression
    optimist optimization optimizes optimums options optometrist opulent opuses or oracle oracles orangutang
    orators orbiting orchard orchestral orchids ordain ordeal ordeals ordering ordinance ordinances ordinary
    ordination ore organism organized organizer orgies orientated origin originated ornament ornithology orphan
    orthodontist orthodox oscilloscope ostracize ostracizing other others ought ounce ounces ourselves ousted
    out outbound outbursts outcast outclassed outdid outdistanced outfield outfits outgrowing outgrows outgrowth
    outlasted outlaw outlawed outlaws outlined outlooks outnumbered outnumbering outposts output outset
    outsiders outsmarted outstations outstripped outstripping outward outweighed outwitted outwitting ovaries
    ovations overbearing overbears overblown overburdened overburdens overcasting overcrowded overdone overdosed
    overdoses overdraft overdraws overeat overgrown overhand overhang overkill overlays overlie overloads
    overlook overlooking overlooks overlying overpowering overprinting overrating overseas overseer overshadowed
    oversight overstepping overtake overtone overtones overturning overturns overused overwhelming overworked
    overwrought owe ownership owns oxide oxidize oxidized oxidizes oxidizing paces pacifier pacifying pacing
    packers paddies paddock paddocks paging pained paining painlessly paint pairing pajamas palace palatable
    paled paleontology paler pall pallbearers palled palling pallor palls palominos palpable panaceas pander
    pandered panels panes panhandles panic panicking panorama pansy pant pantomimed pantries panty papa papered
    papers paperwork papyruses parables parachuting paragraph parakeet parallelling paralyses paralytic
    paralytics paralyzed parameter paraphrasing paraplegic paraplegics parasitic parasol parceled parcelled
    parched pardonable pardoning pardons parentage parental parented parenthood parish parishes parking parkway
    parliaments parlor parodies paroles paroling parsec parses parsing parson parsonage partaken partakes
    partaking partial partiality particular parting partition partitioning partitions partizans partnering
    partnerships partook partridge pas passage passages passageways passed pasteurized pasteurizes pasteurizing
    pasting pastor pastoral pastry patches patenting pathologists pathos patios patrimony patriotism patrol
    patronages patted paunch paunchier paunchiest pausing pave pawn payload pays peace peacock peaked pealed
    peanut pearls pebbling pecan pecans pedaled pedaling peddle pediatrics pedigrees pedlar peeked peep peer
    peers peevish pegs pelicans pelleted pelvic penalized penalizes penalizing penalties penance pencilled
    pendants pended pends pendulum penguins penitent penitentiary pennies pension pensioned pensioner pensioners
    pensions pentagon pentagonal penultimate peon people peoples per perceive perceiving percent percentages
    perch percolates perennials perfected perfecter perfections perfects perforation perforations performing
    perfuming perils perimeters peripherals perishable perishables perjured perjury permanence permanents
    permissible peroxides perpetrating perpetrator perpetually perplexity persecuting persecutions perseverance
    persevering persistent personally personified personifies perspires perspiring persuasion pertain pertains
    perturbing perused peruses pervade pervaded perverse perversion perverts peskiest pessimist pester pestering
    pesticides pestilence pestilences petering petitioning petitions petrified petted petunias pews pewter
    phantom phantoms phenomenally phobia phoned phonetic phoney phoneys phonier phonograph photo photocopiers
    phraseology physicals physicians physicist piccolo piccolos pickabacking pickle pickles pickup pickups
    picnicking pictorial pie pieced piecemeal pierces pies pigs piled piles pillaged pilling piloting pimples
    pimpliest pimply pinches pinching pining pinioning pinions pins pious piqued pirating pistons pitfall
    pitfalls pitting pivot pixy placard placarded placate placating places plagiarism plagiarist plagued
    plaguing plain plaintiffs planetariums planetary plankton planner planners plant plantain plantations plaque
    plateaus platitudes platters playable playful playhouses playing playmate playpens playthings pleads
    pleasanter pleasings pleating pledged plighted plopping plots plotter ploys plucked plucking plucks plugged
    plum pluming plumped plumpest plumping plusher plusses plutonium pneumonia poach poacher pocketed pockmarks
    pod podded podium poems poet poetic pointers points poisons pokey polar polarize policewomen policies
    policing policy polish polished politicians polka pollen pollination pollsters polygamy polynomial polyps
    pompous ponchos ponders pontoons pooling poop popcorn poplars poppy pops popularity popularized populated
    populating population porcupine porpoised porters porticoes porting portioned portlier portray posed
    positioned positivism possesses possession possibility possibly possum postage postal postbox poster
    posterity postmarked postmen postponed postponing postulates pot potassium potential pottering pouch pouched
    pouches poultry pour pours pouting powdering powders powerhouses powwowed powwows practicality practiced
    practitioner praising prance pranced prawned pray preaching preamble preambles precautions precious
    precipitous precise precisest precluding preconceived predecessors predicament predicates predictable
    predictably predicted predictor predominated predominates preeminent preempt preempting preen prefabbed
    prefabbing preface prefaces prefacing prefer preferred preferring prefixed pregnancies prejudice prejudices
    preludes premiere premiered premium preoccupying preparatory prepare prepares prepaying prepositions
    prerogative prescribing presences presentable preside presidency president presidential pressing pressures
    presume presumes presupposing pretend pretending pretension prettier pretzel prevalence prevalent prevention
    previous priced priceless prices prick pricked prickle prickled pricklier prickling pricks pride prides
    priest priestesses priesthoods primaries prime primer primers primeval prince print printable prints prior
    priors prisoner privacy privatized privatizing process processions processor procured prodigious prods
    producer producers product profaned profanes professors proffers proficiently proficients profiling
    profitable profited profiteers profuse prognosis programed programmable programmer programmes programs
    prohibiting prohibition proletarians proletariat prologues promenaded promenading prominent promiscuous
    promised promontories promoted promotion prompts proms promulgated promulgates prongs pronouncing
    proofreading propelled propellers propensity properly prophecy prophesies prophet prophetic proportion
    proposes propositions props pros prosecutes prospectus prosperous prostrated prostrates protagonist protect
    protector protest protesting protocol protocols proton protons protracting protracts proverb proves
    providence provider province provision proviso provisos provocation provocative prowled prowler prude
    prudish prunes pruning prying psalms pseudonyms psychiatric psychiatrist psychiatry psychic psychopaths
    psychosis psychotic public publications publicizes published puddled puddles puddling puffer puffing puffy
    puke pulling pulse pulses pulverizing pummels punched punctuates punk punkest puns punter punting puppet
    purchases pure pureed purgatory purging purification purifies purse purses pursing pursues push pussiest
    putt putters puttied puttying puzzled pyre quacked quadrangle quadrangles quadrant quadratic quadruped
    quadrupeds quailed quakes qualified qualities quandary quantities quarantined quark quashed quaver quavered
    quays queenliest queered quench quenched quested question questionable questioned questioning questions
    quiche quiet quilt quintet quip quirking quits quitters quivers quizzes quota quotas quotient quotients
    quoting rabbis rabbited rabbiting racial racketeers racquet racquets radiated radiators radish radium
    raffling ragamuffin rages ragged ragtime railway rain raincoats rained rainfall raise raises raising raisins
    rake rakes rallied ramblers ramp rampage rampaged rampages rampaging rancher rancor rank rankle rankled
    ranks ransomed ransoms rapids rapport rapports raptures rared rarer rarest rash rashes rate ratification
    ratio ration rationale rationality rationalizes rationally rationing ratios ratting ravage ravaging raven
    ravening ravens raving ravish rawer rays razed razor react reacted reacting reactionary reacts read readable
    reader readers readied readies readiest readiness readings reads reality realizes really reals reaped
    rearing rearranges reason reasonably reasoning reassurance reassure rebate rebinds rebirths rebound rebuff
    rebuffed rebuking rebut recall recaps recaptures recapturing receded received receptions receptive recesses
    recipient reciprocated reciprocates recited reciting reclaimed reclaiming recline recognition recompiled
    recondition reconditions reconnect reconstruct reconstructs record recounts recoups recourse recoveries
    recovering recreated recreation recreations rector recur recursion reddening reddest redesigns redheads
    redoes reds reefed reefs reeking reenforced reference referendum refers refinement reflected reflectors
    reflexes reformations reformatting reformed reformers reforming refraining refreshes refreshment refuelled
    refuels refugee refugees refund refurbishing refuse refuses refusing refutation regain regal regarding
    regenerate regenerates regenerating regimented regimes register registration registry regressed regresses
    regrettable regretted regulated regulations reincarnates reindeers reined reinforced reiterates rejection
    rejoiced rejoicing rejoin rejoined rejuvenated rejuvenates rejuvenation related relates relating
    relationship relatives relax relaxation relaxations relaxed relaxing relay relegates relegating relent
    relevance relief relieves religion relishing relive relives reloaded reloading reloads relocatable reluctant
    remade remark remarkable remarkably remedied remedy remedying remembrances reminders reminding remitting
    remnants remodel remodeled remodelled remorse remorseless removed removes removing rename renamed renaming
    rending renegades renewing renounce renovate renovation rentals rented renting rents reopens reorganizing
    repatriating repeal repellants repentant repetitions rephrase replacement replacements replaces replete
    repletes replica replying repression reprimand reprisal reproach reproached reprogram reprove republic
    republican republicans repudiations repugnant repulsing reputations requesting requiem requisite requisition
    rerouted rescinded rescuers rescues research researchers resemblance reserving resetting resided residence
    residential residents residual resigning resistances resisting resonant resorted resorting resorts resounds
    respectably respectful respective respiration responds responsibly restarts restful restfullest restlessly
    restlessness restoration restore restrain restrained restraints restricted restricting restrictions
    resubmits resubmitting result resumption resurfaces resurfacing resurrect retailed retailers retailing
    retain retainer retainers retaining retaliated rethink retina retinas retorts retraces retracing retraction
    retracts retribution retributions retrieve retroactive returnables reuniting rev revamps revealed revel
    reveler revelled revellers revengeful reverenced reverences reverent reversals reverse reversed reverted
    reverts reviles revise revives reviving revolting revolver revolvers revue revulsion revving rewarding
    rewrote rhapsodies rhinoceros rhymed rhymes rhythm rice richer ricketier ricksha rickshas ricocheted
    riddance riddle ridge ridges ridiculed ridiculing ridiculous rifling rifted righted righteous rightfully
    rightly rights rigid rim rims rind ringed ringleaders ringlets ringworm rinses rioter rioters rioting
    riotous ripe ripened riposte ripple ripples rippling risen rises rival rivaled rivaling rivalries rivetted
    rivetting road roadblocks roadsides roamed roams robot robs rockers rocket rockiest rocks rods role rolling
    romance romanced rook rookies rooks rooming roosting root rooter roots rose roses rosier rotor rotors rots
    roughed roughen rougher roughness rouging rousing route row rowdy rubbed rubbers rubbish rubbishes rubric
    rucksack ruddiest rude rudeness rudimentary rued ruffed ruffians ruffle ruffled ruffles rugged ruin ruining
    rule rumble ruminate ruminates rummaged rumoring rumpling rundown rung runny runt runways rush rustics
    rustier rusts rutted rye sacraments sad saddened sadder sadist safeguarding safeguards safely safer safes
    safeties saffron sagebrush sagest sagged sail sailboats sailed sailors saintly salable saleable salesperson
    salespersons saliva salivates salons saloons saluting salvages salvation salves sample sanctifying
    sanctioning sanctuary sandals sandbags sanded sandman sandpapering sandpapers sandwiched saner sang sanity
    sap saree sari sassier sassiest sat satellite satellites satires satirize satirizing saturate saucepan
    saucing saucy sauna saunter sauted savaged savaging save saved savings saviors savorier savvied savvier saws
    saxophones scaffold scalar scalding scalier scallop scalping scaly scandalizes scandalizing scandalous
    scanner scant scantest scanties scanting scants scapegoat scar scarce scarcely scares scarfed scathing
    scatter scatterbrain scatters scenario scenic scepter scepters scheduled schemed schemer schoolboy schooling
    schools schooners scolded scollops scoot scoots scorches scorn scotch scoundrel scoured scouts scrabble
    scramble scrambling scrapped scratch scratchier scrawled scrawling screamed screeched screeching screening
    screwed screwiest scribbled scribe script scripts scrounge scrubbed scruff scruffs scruffy scrupling scuff
    scuffled scuffling sculptor sculptors sculptured sculpturing scurrilous scurry scurrying scuttled scythe
    scything sealed seam seaman seamstress seaports searching searchlight seasoned seasoning seasonings seating
    sec secession secondarily secondary secondly secrete secretions secretive sedatest sedatives sedentary
    sedimentary seduces seductions seductive see seed seedier seeking seem seeping seesawed seethed seethes
    select selfish selfishness selves semantic semantics semen semesters semicircles semicolons senates senator
    sender sensed sensibly sensory sensuality sentences sentience separations separators sepulcher sequences
    serenades serene sergeant serials series sermon server service serviceable serviced servitude sessions
    setbacks sets settable setters settlers seven sevens seventeen seventh severance severances severed severing
    sew sexed sexual shadowed shaggy shaikh shake shaky shallowest shamefully shampooed shams shape shareholder
    shares sharped sharpening sharper shatters shawl she sheaf sheath sheave shed sheds sheep sheerest sheers
    sheets sheikhs shell sheller shellfishes sheltering shepherds sherbets sheriff sherry shes shied shifts
    shifty shimmer shine shined shipped shipwrecked shipwrecks shire shirts shoals shoe shoelace shoes shop
    shoppers shopping shore shoring shortages shortcomings shorten shortened shortly shot shots shouldered
    shoved shovelling showcased showcasing showiest shrews shrieks shrimp shrinks shrivel shrivels shuck
    shucking shudder shuffle shun shunting shutdown shuttered shuttled shuttles shy shyness sick sickening
    sickens sicking sidelong sides sideshow sidestepped sidetrack sidetracks sidles sierra sifted sigh sighed
    sighing sighting sigma signal signaled significant signposts silenced silenter silentest silently sill
    sillier silted silting silversmith silverware similarly simmer simmering simplest simply simulate simulated
    sincerest sinful singed singer singly sinner sinners sinning sip sire sired sirens sires sirloin sirup
    sissier sisterhood siting situated sixes size sizes sizzle sizzling skateboarded skaters skates skeins
    skeptic skewer skewing skimpier skimpiest skimps skipper skippers skips skirted skit skittish skunk skying
    skylights skyline skyrocket slackening slacking slain slaking slant slanted slapstick slashed slashes
    slating slaughter slaughtered slays sledded sledding sledgehammer sleeker sleep sleepers sleepiest sleeps
    sleeted slenderest slick slicks slide slier slightest slime slipper slips slits slitting slobber slobbered
    sloped slopes slosh slots slouch slouched slovenlier slovenliest slow sluicing slumbers slummed slump
    slumping slumps slums slur sly smart smartest smarts smatterings smear smears smelting smelts smidgeons
    smidges smiling smirked smirking smith smitten smock smoke smoker smolder smoldering smoothed smoothness
    smooths smothers smuggest smuggler smugglers smugly snailed snake snap snappier snapping snappy snared snarl
    snarling snatches snatching sneaked sneaking sneezes snicker snide snidest sniffing snip snipe snips snitch
    snitched snitching snobbery snootiest snooty snoozing snore snored snorted snot snout snowball snowiest
    snowing snowplow snowplowed snowplows snowstorms snubbing snuffed snug snuggled soaking soaped soared
    sobbing sobered sobering socialism socialist sociology socked socket socking sodded sodden sodding sodium
    sodomy soft softball softens softer softest softly soggier soggy sojourned solace solacing soldiered solicit
    solicitor solidified solidity solo solution solve solvent solvents somber someday sometimes song sonic
    sonnets sooner soothed sootier sophisticate sorcerer sorcerers sorcery sorely sorriest sorrow sorrowed
    sorrowing sorting sounded soundproofs souping southeast southeastern southerlies souvenir sowing sows spa
    spacecrafts span spaniel spaniels spanking spans spar spares spark sparking sparkled sparks sparred sparrows
    spas spasm spasms spate spatial spatted spatter spattered spattering spatters spearhead special specialize
    specializing specials specifically specified specimens specked spectaculars speculator speculators spells
    spent sperm spherical spice spiced spiked spiking spindliest spiraling spiralling spiritually spite
    spitefullest spites spiting spits splashed splattered splattering splendidest splurged spoil spoiled spoken
    spokesmen spokespeople sponged spongier sponsors spontaneous spoofing spookiest spooky spooning spotlight
    spotting spouses spouts sprawl sprawls spraying sprays spreads sprier sprig springboards springiest
    sprinkled sprinkler sprinklings sprinted sprints sprouted sprucer spruces spud spurious spurn spurs
    squadrons squalidest squalls squarely squashes squats squatted squattest squatting squeakiest squealed
    squealing squeals squeezed squid squires squiring squirmed squirreling squirting squirts stabbed stabilizes
    stabilizing stabled stages stagnant stagnated stagnates staider stained stair stairs stalemate stalemates
    stales stalked stall stammering stamp stances stancher stanches stand standardize stands starchier starching
    staring stark starlight starring starry start startlingly state stated stateliest statement stater states
    stationery stationing stations statistics statuses statute staunches staunchest staunchly stays steadier
    steadily steaks stealth stealthier steaming steels steeples steered stenches stenciling stepladders stepped
    steps stereos stereotyped stereotyping sterile sterilized sternness stethoscope stew stewarded stewardess
    stewed stewing stick sticks sticky stiffen stiffened stiffly stiffness stifles stigmata still stiller
    stilling stillness stimulates stingier stink stinted stipulate stitched stitching stockades stockings
    stodgiest stoke stokes stomp stoned stoniest stoning stood stopgaps stoppage stoppers storekeepers
    storerooms stormiest storming stowed straddled stragglers straggling straightest strain strains strands
    strange strangely strangeness stranger strapped stratified stratifying stratosphere stratums straw
    strawberries strawberry straws straying streaks stream streamer streamlines strengthened stretch strewn
    strews stricken strictness string stringier stripe stripes striping strive striven striving stroked stroking
    strolled structure structuring struggle struggles strummed strung stuck students studio studs stuffing
    stuffy stumbled stump stumps stupider stupidity stupor stuttering styled styles suave subconscious
    subdivides subdividing subdivisions subdue subjected subjects subjugates subjunctive sublime sublimest
    submersion submissive submits submitting subordinates subprogram subroutine subscriber subscribers
    subscribing subscripts subsection subside subsidies substance substantiate substitute substituted
    substitutes substitution subsystem subtler subtlety subtracted subtracting subtractions subtracts subversive
    succeeding succeeds succumbed succumbing succumbs suck sucked suckering suckers sucks suddenly suds suffer
    suffered suffers sufficient suffocates suffocation suffrage sugariest sugaring suggester suggestive
    suitcases suite suites suitors sulkiest sullen sulphur sultans summarize summarizes summarizing summary
    summered summing summit summoned summoning summons summonsing sun sunburn sunburns sunburnt sundae sundial
    sundowns sundries sunflowers sunglasses sunlight sunned sunnier sunrises suns sunscreen sunset suntanning
    superb superfluous superscript superseded superseding supersonic supervise suppers supple supplest supplier
    suppliers supply support supporter suppress supreme surcharge surcharges surely surest surface surfaced
    surfacing surmises surpassing surprise surrounding surroundings surveyor survivals survive survived
    survivors suspect suspend suspicious suspiciously sustainable swabbing swagger swaggered swaggering swamp
    swamped swans swarming swarthiest swathing swatted sweat sweaty sweeper sweeping sweeps sweepstakes
    sweetheart sweethearts sweets swelled sweller swerved swerves swiftly swig swilled swim swing swipe swirling
    swisher switchboards switched swiveled swivelling swoon swooned swooning swoons symbol symbolize sympathizes
    symptoms synapses synchronized synchronous syndrome synonym synonymous synonyms synthesizing syphons syringe
    syrups tabbed tabbies tablecloth tablespoon tablets taboo tabulate tacking tackle tackles tackling tacky
    tadpoles tag tagged tags tailed tailgating tainted take taken taker taking talker tallied tallies tallying
    tambourines tamest tangential tangents tangibles tangling tanks tanned tans tantamount tap tapestry tardier
    targeted tarnishes tarpaulin tarred tarrier tarries tarring tarry tartan tartars tassel tasselled tastes
    tatty taunted taut tavern taxi taxicab taxied taxiing taxying teach teaches teak teaks teammate teamwork
    teapots tearful tears teaspoon technologies teenager teeter teetered teethe teethed telegraphing telegraphs
    telepathy televised telling tells temperaments temperature temperatures tempest temples tempo temporaries
    tempting tenant tenanted tenanting tenants tendencies tendering tenderizes tendril tenor tent tentacles
    tenths tents tenuous term termination terminator terminators terrace terraced terriers terrific territorials
    terrorism terrorist terrorists terrors testable tester testicles testified testimonials testimony testing
    tethering tethers text textbooks textually textured than thanked thankful thankless thatcher thee theist
    themselves then theorems theoretic theories theorizing therapists thereby thermometer thermostat thermostats
    thesauri thesaurus these theses thesis theta they thicknesses think thinks thinned thirty thorniest thorns
    thoroughest thoughtfully threaded threes threshers threw thrift thrived throbbing throbs throng throttle
    throttles through throwback thud thudded thumbed thumped thunderous thwarting thy thyroid ticked ticket
    tickles ticklish ticks tides tidying tied tieing ties tiger tighter tiles tiling timber timbering time
    timeless timers timescale timetable timidest timidity timidly tinder ting tinge tingeing tingle tingles
    tinniest tinny tinsel tinseled tinseling tints tips tipsier tipsy tiptoeing tirade tirades tiredest tiring
    titbit titled titter tittering toad toads toadstool toadstools toaster toasts tobaccos tobogganing toboggans
    toddle toddlers toddles toeing toffees toffies toffy toiling told tolerable tolerances tolerant tolerate
    tolerates tomahawking tombed tombing tonal tong tongs tongued toning tonnes tonsillitis toot toothbrushes
    toothpaste toothpick tooting topology topple toppled topples torch torches tormentor tormentors torments
    tornados torpedo tortilla tosses totalities totals tots totters toucan touched touchings toupee toupees
    tournaments tousles touting towel tower towered towering towns trace tract tractor tractors tracts traded
    trademark trader trail trainee traitor trample tranquilizes tranquillity transacts transcribes transcribing
    transformer transfusion transistor transited transitioned transitive translated transmitting transpiring
    transport transposing transverses trap trapped trappers trappings traps trashed trashiest trashy travelers
    traveling travellers traverse traversed traverses travestied travesty trawled trawls treacle tread treads
    treasuries treaties treating treatise treatises treaty trebles trebling tree treed treeing treks tremble
    tremendously trench trenched trenching trends trepidation trespass trespassers trespassing trestle triangles
    tribulation tribunal trickery trickier trickle trickled tricksters trifles triggering trilling trillion
    trilogy trim trimesters trinket tripod tripods trite triumphing triumphs trod trolly trooped trooper
    troopers trotted trough trouncing trouped truancy trudges truer truffles truly trumpeted truncation trustees
    trustiest tryout tryouts tube tucked tufts tug tugged tugs tulips tumble tumbler tundra tuner tuners tuning
    tunneling tunnelled turbans turbulent turned turpentine turquoise turtlenecks tusks tussle tweaks twee tweed
    tweet tweeting tweets tweezers twelfth twelfths twentieth twentieths twice twiddles twiddling twined twines
    twinges twinkles twinning twirled twister twisters twitched twitching twitters two typhoon typify tyrannize
    tyrannized tyranny ubiquitous ultimately umbrella umbrellas unaccepted unaffected unaltered unambiguous
    unanimity unassigned unavailable unavoidable unaware unblock unblocked unbroken unburdening unclean
    uncleanest unconfirmed unconnected uncover uncovered uncultured undecideds undemocratic underlay underline
    underlined undermine undermining underpasses underrated underscores undershirt undersides understand
    undertaken undertone undertones undertow underwent undid undressed undying unearthed unearthing unearthly
    uneasily uneducated unemployable unequal unfailing unfairest unfastened unfavorable unfolded unfurling
    ungainliest ungodlier ungodly unhappiness unhealthy unheard unhooked uninhibited uninspired uninspiring
    uninterested unionize unique uniquely uniquer universe universes universities unjustly unkindly unleash
    unloaded unloading unloads unluckier unluckiest unmarried unmodified unmoved unnamed unnatural unpacked
    unprintable unqualified unraveling unravelling unreadable unreservedly unresolved unrest unruffled unsafe
    unsafest unscrewed unseat unseating unseats unseemlier unseemly unset unsettling unskilled unsolved
    unsounder unstable unsuccessful unsure unsuspecting unties until untouched untrained untrue untying unusable
    unused unwilling unwise unwiser unworthy unwound unwraps up upbeat upbringings updated upgraded uphold
    upholsterer upholstery upper uproot uproots ups upset upstanding upstart upturn upturned urbaner urbanest
    urchins urge urine usable useful usefully uses usher ushering ushers usurped utility utilized utterances
    utterly vacancies vacancy vacates vacating vacation vaccinate vaccine vacillate vacillating vacuous vagabond
    vagabonded vague vainer valentines valiant validly valleys valuables values valve vandals vanishes
    vanquished vaporizing variant various varsities vase vast vaster vault vaulted vectors vegetables vegetation
    veiled veneered venerates veneration vent ventilation ventricle ventricles vents ventured verbal verbally
    verbatim verbiage verbosity verdict verges verier veriest vernacular versatility versus vertebrae vertebras
    vertebrates vessels vestibules vestige vestiges veteran veterinaries veto vexations viaducts vibrate
    vibrates vicing victims victorious videotaping vied vies viewing views vigilant vile viler villagers
    villains villainy vindicating vine vines violas violated violation viper viruses vision visit visitations
    visitor visor visors vistas vitally vitriolic vocabulary vocal vocals vocation vocational vociferous
    vociferously voiced voided voiding volleying voltages volumes voluminous voluntaries voluntarily voluntary
    volunteer voluptuous voodoo voucher voyager voyaging waded wafer wafting wafts wage waged wagering wagged
    wagging waging wagon waif wail wails waited waiters waive waiving waken wakening walker wall walloping
    wallow wallowing wallows waltzes waltzing wan wandering wanders wanes wanna wanner wanted warbles wardrobe
    wards warfare warhead warier wariest warmest warn warning warns warpath warpaths warping warranted
    warrantied wart washer washes wastage watch watercolors waterlogged watermarked watermelon watershed
    watersheds watertight waveform wavelengths wavered wavers waves waviest waxiest waylays ways waysides
    wayward weakens weaker weakness wealth wear weariness weary wearying weasel weathering weaved weavers weaves
    web webbing weed weeded weeing weekday weekending weekly weep weest weighed weighs weights weirdos welcomes
    welder welders welds welling welted weltered werewolves western westerns westward wets wettest whack
    whacking whale whalers wharves whatever whatsoever wheedled wheelchairs wheeled wheezing whence where
    whereabouts wherein wherewithal whets whetting whiffs whiles whimpering whimpers whimsical whined whines
    whining whinny whip whipping whirl whirled whirling whirlwind whisked whiskeys whiskies whiten whiteness
    whites whitewash whitewashes whittles whizzed whizzes whizzing wholesaling wholesome whoop whooped
    wickedness wider widespread widest widowed widowing widths wife wig wigging wildcat wildest wildfire wildly
    wilds wilful wiliest willing wily wince winced winches winching windfall windowpane windpipe winked winking
    winning winsome winters wintry wiper wired wiring wiry wisecrack wishbones wishful wisp wist wit with
    without withstanding witness witnessing wits wobbliest wobbly woe wolfing wolves womanhood womb wonderful
    wondering wonderland wonderlands wooded woodenest woodier wooding woodpecker woof wooliest wordiest wording
    workbench workbenches workshops workstations world worldliest worlds worldwide worm worming worms worrisome
    worsening worsens worshiped worshipped worshipper woulds wound wounder wrangles wrangling wrap wreak
    wreathes wrestled wright wrinkles wrist wrists wristwatch write writer writes wrong wrongdoer wrongdoings
    wryest xci xcix xi xvii xviii xxxvii yachted yack yacked yacking yakked yams yanks yawned yearly yearns
    years yeasts yelps yes yessed yeti yielding yields yodelled yoga yoked youngsters yowls yuck zany zeroed
    zigzagged zillions zip zippered zippers zips zodiac zombi zones zoom zooms zoos`,
  de: `
    Abchasisch Acholi AfEB Afghanische Afghanistan Afrihili Afrikaans Ainu Akkadisch Alaska Albanien Albanisch
    Albanischer Algerien Alt Altaisch Altenglisch Altnordisch Angika Angola Anguilla April Aragonesisch Araona
    Ariary Armenischer Asien Asturisch Asu Atsam August Austral Australasien Awadhi Awarisch Bachtiarisch Bafut
    Bahamas Bahrain Baht Balkarisch Barbuda Baschkirisch Baskisch Bassa Batak Bedauye Belgischer Belize Bemba
    Bena Benin Bhakha Bhodschpuri Bikol Birmanisch Blackfoot Blin Bliss Bokmål Bosnien Britische Britisches
    Bulgarisch Cajun Cayuga Cebuano Chamorro Cheyenne Chilcotin Chilenische Chilenischer Chimborazo Chinook
    Choctaw Clipperton Colón Cookinseln Costa Curaçao Córdoba Dakota Dalasi Deutsche Dezember Dhivehi Dinka
    Diola Dirham Dollar Dong Duala Dyula Dzongkha Dänisch Dänische Ecuador Ekwele Emilianisch Englisch Escudo
    Esperanto Euro Europa Eurozone Ewe Ewondo Fanti Finanz Florin Flämisch Fon Franken Freitag Ful Färöer
    Färöisch Gabri Gabun Galicisch Gambia Gan Ganda Gayo Geez Gegisch Georgien Georgischer Ghana Ghanaischer
    Ghomala Gilaki Gleicher Grebo Grenada Griechisch Griechische Guatemala Guayana Guernsey Guinea Gulden Gusii
    Guyana Gälisch Haitianische Hakka Halkomelem Haryanvi Hawaiisch Helena Herero Herzegowina Hethitisch Hiri
    Hocharabisch Hochdeutsch Hongkong Indien Indonesisch Indonesische Insel Interlingue Iranischer Isländisch
    Italien Jakutisch Jamaika Jemen Jju Jütisch Kabuverdianu Kachin Kako Kalmückisch Kanadischer Kanarische
    Kangri Karbovanetz Karelisch Karibik Kaschmiri Katalanisch Katar Kenia Kina Kip Kirgisischer Kirgisistan
    Kirmanjki Kokosinseln Komoren Kongo Kongolesisch Konkani Kosraeanisch Kpelle Kreolisch Kuba Kubanischer
    Kumükisch Kutenai Kyat Kölsch Lahnda Lakota Langi Laos Laotischer Lari Lasisch Latein Lempira Leone Leste
    Lettisch Lettischer Lettland Libyen Libyscher Ligurisch Lillooet Limburgisch Lingala Litauen Litauisch
    Lombardisch Loti Lozi Luba Lucia Luiseno Lule Lulua Luo Luri Lushootseed Maarten Maba Macao Macau Mai
    Maithili Makassarisch Makonde Malagasy Malaiisch Malaysischer Mali Malinke Malischer Maliseet Malta
    Maltesische Maltesisches Man Marathi Mari Martinique Massai Mauretanien Mauritius Mayotte Medumba Meetto
    Mehrsprachig Meithei Mentawai Meta Metical Micmac Min Minangkabau Mirandesisch Mittelirisch Mittwoch
    Modernes Mokschanisch Mongolisch Mongolischer Mongondou Moose Morisyen Mosambik Mossi Myanmar Myene März
    Māori Naga Nan Nauru Navajo Ndonga Nepalesisch Neuer Ngiemboon Ngultrum Niederlande Niger Nigeria Nogai
    Nordwest Northern Norwegen Norwegisch Norwegische Nova Novial Nyasa Nynorsk Nyoro Obersorbisch Oji Oktober
    Oman Omanischer Oraon Oriya Osmanisch Ostafrika Ostfriesisch Pali Pampanggan Panama Pangwe Paraguay Paschtu
    Pataca Peso Phönizisch Picardisch Pierre Pijin Platin Plautdietsch Polen Polnischer Polynesien Pona
    Ponapeanisch Pseudo Pula Punjabi Quechua Quetzal Rajasthani Rapanui Renminbi Republik Rhodesischer Rico Riel
    Ringgit Romani Rombo Roviana Rufiyaa Rukiga Rumänien Rumänisch Rumänischer Rundi Russinisch Russland Saamia
    Saho Salish Salvador Samisch Samoa Samogitisch Samstag Sango Sangu Sasak Schilling Schlesisch Schottisch
    Schottland Schwedisch Seeländisch Selayar Seneca Senegal September Serbisch Serbo Serer Seri Seychellen
    Shambala Sidamo Simbabwe Sindhi Singapur Sint Skolt Slave Slowakisch Slowenien Soga Sogdisch Somali Somalia
    Soninke Sowjetischer Spanisch Spitzbergen Srananisch Sri Suaheli Subsahara Sucre Sumerisch Sundanesisch Susu
    Swahili Swampy Syrisch Syrisches Südamerika Südasien Südgeorgien Südkurdisch Südlichen Südost Südsamisch
    Tadschikisch Tagalog Tagish Tahitisch Taka Talisch Tamaseq Tamazight Tamil Tarifit Taroko Taschelhit
    Territorium Tokelau Toki Tolar Tomé Tongaisch Tongaischer Trinidad Tristan Tsakonisch Tswana Tunesisches
    Turoyo Tuwinisch Twi Udmurtisch Uigurisch Ukraine Ukrainisch Ukrainische Unbekannte Ungarischer Unidad
    Unidades Union Usbekisch Vai Vatikanstadt Vincent Volksbank Võro Walisisch Wallonisch Washo West
    Westflämisch Westliches Westsahara Wotisch Yao Yapesisch Yoruba Zaza Zenaga Zentralasien Zulu Zypern anga
    der die für reformierter toméischer und vereinfacht wala Ägyptisch Äthiopischer Ålandinseln Österreich`,
  fr: `
    Albanie Allemagne Amérique Amériques Andorre Antigua Atlas Bahreïn Bangladesh Banque Barthélemy Bas Belize
    Bhoutan Birmanie Biélorussie Bliss Bosnie Botswana Bouvet Brunei Cambodge Canaries Cap Chine Christmas
    Colombie Congo Cook Costa Crimée Cuba Cunha Côte Djibouti Est Estonie Eswatini Europe Fidji Finlande Féroé
    Gibraltar Guadeloupe Guam Guatemala Guernesey Haïti Herzégovine Honduras Inari Irlande Israël Italie Ivoire
    Jan Jersey Jordanie Kazakhstan Kenya Koweït Laos Leone Lettonie Liban Libye Luxembourg MacDonald Macao
    Macédoine Main Malte Man Mariannes Maroc Marshall Mayen Mayotte Mexique Micronésie Monde Mozambique
    Mélanésie Nations Niévès Norfolk Noviy Oman Ouest Ouganda Ouzbékistan Pakistan Panama Pays Pitcairn Pologne
    Polynésie Pérou Qatar Rica Rico Roumanie République Sainte Sandwich Serbie Slovaquie Somalie Soudan Sri Sud
    Tadjikistan Territoire Timor Togo Tokelau Tunisie Turquie Ukraine Vanuatu Vert Viêt Zambie Zimbabwe aceh
    acoli adyguéen afghan afghani aghem akan akoose algonquin algérien aléoute amazighe américain américaine
    américaines ancien andorrane antillais août arabe arabes aragonais arapaho argent argentin ariary arménien
    asu atsam australe australes awadhi badaga bafut balinais balkar barbadien bavarois bedja bena bengali
    bermudien betawi bidi bikol bishnupriya bolivar bosniaque boulou bouriate braj breton brunéien brésilien
    bélizéen cachemiri cadien cambodgien canadien capiznon capverdien caribéens cayuga changma cheyenne chibcha
    chilien chinook chipewyan choctaw classique colville colón composée compte cordoba coréen cree cri cruzado
    cubain cupon cédi córdoba danois danoise dargwa dari dazaga devise dimanche dinka diola dogri dominicain
    dominicaine douala dzongkha détroits ekwélé esclave espagnole estonien estonienne estrémègne européen
    européenne fang financier finlandais fogny fonds frioulan février gallois gan ganda gilaki gilbertin gondi
    goudjarati gourde grebo guègue haut haïtienne hindi hiri hittite hupa hwan hébreu iakoute igbo ilocano
    indienne ingrien interlingue inti isangu islandaise israélien javanais jour judéo juillet kachin kako
    kalendjin kamba kanembou kanouri karatchaï kawi khowar kiga kinaray klingon konkani kosraéen koumyk kouroukh
    koyra kpellé kwacha kwanza kyat kényang lahnda lakota lao laotien latine letton lezghien libanaise ligure
    lingala lingua lozi luiseño lushaï luyia léonais macanaise macédonien madurais makassar makua malais
    malayalam malécite mandar manipuri maori mari matchamé mauricien maïthili meru meta metical mexicain
    mexicaine mineures mirandais mitchif monétaire moundang mvdol myanmarais médumba métical nama ngambay
    ngiemboon ngomba ngoumba ngultrum nheengatou nigérian niuéen nogaï norvégien nova nuer nzema néo népalais
    occidentale occitan octobre océan odia oji okanagan omanais orientales osage ottoman ougaritique ouguiya
    ouïghour pachto pakistanaise palatin palestiniens pampangan paraguayen pataca pendjabi peseta peul pijin
    pisin platine polonais pona populaire provençal qatari quiché rapanui riel romagnol romanche roumain rufiyaa
    réelle régions saho salish salvadorien same samoan samogitien sandawe sango sans santali saoudien schilling
    selkoupe senni septembre serbo seychellois shan shilling sicilien siksika skolt slavon slovaque socialiste
    soga sogdien som somali somoni sotho soundanais soviétique sranan sterling sud suisse surinamais suédois
    swazi syli tagalog taka talysh tamacheq tamoul tanzanien taroko tatar taïwanais tchouvache tchétchène tereno
    teso test thaïlandais tigrigna tirage tokelau tonga tornédalien touroyo touvain tsimshian tswana tumbuka
    turc turque tutchone twi umbundu unis uruguayen uruguayenne vanuatuan vatu vendredi vepse volapük vénitien
    vénézuélien võro warlpiri won xiang yapois yuan yéménite zapotèque zarma zaïre zaïrien zhuang zone zélandais
    Émirats Équateur Éthiopie écossais éfik égyptien élamite émilien équatoriale érythréen éwondo`,
  es: `
    Acuña Americana Angola Antártida Arabia Argelia Armenia Aruba Ascensión Asia Australes Bahamas Bangladés
    Bartolomé Baréin Bielorrusia Birmania Bisáu Bliss Bosnia Bouvet Británicas Británico Brunéi Bulgaria Burkina
    Bélgica Caicos Caledonia Central Ceuta Clipperton Cocos Comoras Cook Corea Costa Crimea Croacia Cuba Curazao
    Côte Elena Emiratos Eritrea España Estados Este Estonia Esuatini Faso Filipinas Fiyi Franceses García
    Granada Granadinas Guadalupe Guam Guatemala Guayana Guyana Haití Heard Honduras India Isla Islandia Ivoire
    Jamaica Jan Kazajistán Leste Letonia Liberia Libia Lucía Maarten Madagascar Malta Man Marino Marruecos
    Martinica Mayotte McDonald Melanesia Micronesia Moldavia Mongolia Montenegro México Mónaco Naciones Navidad
    Nigeria Norteamérica Nueva Nyasa Níger Omán Pakistán Palaos Papúa Paraguay Pedro Polinesia Polonia Portugal
    Príncipe Pseudobidi República Rica Rusia Salvador San Saudí Senegal Singapur Sudamérica Suecia Suiza Surinam
    Sáhara Tanzania Tayikistán Territorio Territorios Timor Tokelau Tomé Tonga Turkmenistán Túnez Ucrania Uganda
    Unidas Unidos Uruguay Uzbekistán Verde Vietnam Wallis Zelanda abjasio achenés acoli adigué afgani ainu akan
    akoose alejadas alemán angoleño antiguo antillano aragonés arahuaco arameo armenio asamés austral avéstico
    azerí bafut balkar barbadense bat beja belga bena bhoyapurí bislama bodo bokmal bolívar bosnio braj
    brasileño bretón butanés búlgara cabileño cachemir caddo camboyano canarés carelio caribe casubio cedi
    chadiano chakma chamorro checa checheno chibcha chilcotin chinuk chipriota cingalés comorense convertible
    copto corona corso criollo croata córdoba dakota dargva dazaga del delaware derechos desconocida diula dogri
    dogrib dong dracma dram dzongkha dólar ecuatoriano egipcia egipcio ekuele enero esloti eslovaco esloveno
    esperanto esrilanquesa estonia estonio estándar esuatiní ewondo fang finés fiyiano flamenco florín fon
    frisón gagauzo galés gan ganda gayo gbaya gilbertés gondi griego grivna groenlandés guaraní guatemalteco
    guineano gultrum gurde gótico hakka hausa hindi hiri hitita hondureño hongkonés hupa húngaro ibibio igbo
    inari indexadas india inglés innu interlingua interlingue inti inversión iraní irlandés italiana italiano
    jamaicano japonés javanés jerga jola julio kalmyk kanembu kangri karakalpako katanga kazajo keniano kiat
    kikuyu kip klingon koyra koyraboro kuanza kutchin kutenai kuvi kuwaití kyat káingang kölsch langi laosiano
    lari las lats latín leu leva libanesa libra lira lorí loti lozi luba lule lunes luxemburgués macaense
    macasar machame mafa magahi makhuwa malauí malgache maliseet mandar mandingo maorí mapuche maratí marco
    marroquí marshalés martes marzo marí mauriciana mauritano mazandaraní medio mende micmac mohawk moksha
    moldavo mongol mossi mundang myene naira nakfa nama napolitano navajo neerlandés nepalí nevarí ngambay
    ngiemboon ngomba nias nicaragüense niueano nogai noruego noviembre nuer nyamwezi nyanja nyankole occitano
    oeste oji ojibwa omaní oriental oromo osético pahlavi pali panameño papú pastún pataca permio peruano peseta
    pidgin pisin pohnpeiano polaco pona previsional pruebas prusiano quetzal quiché rand rapanui reajustado rial
    riel ringit rodesiano romanche rombo rufiya ruso sajón sakha sami santali santotomense sardo selkup sena
    serbio serbocroata setsuana seychellense shambala siguiente sin sindi siriaco siríaco skolt slave sogdiano
    somoni soninké soviético sranan suajili sueco suizo sukuma surcoreano surinamés suroriental syli sábado
    séquel taita tamashek tamazight taroko teso tibetano tigriña tigré timorense toki tonga tongo tradicional
    tuviniano tártaro ucraniana udmurt uguiya umbundu unidad valor vatu venda veneciano viernes volapük vunjo
    washo xiang yidis yoruba yuan yugoslavo zaire zambiano zazaki zhuang zloty África Árabes`,
  it: `
    Afghanistan Albania Americane Americhe Anguilla Antigua Antille Armenia Australasia Australi Bahamas Barbuda
    Belgio Belize Birmania Bissau Botswana Brasile Britanniche Burkina Caledonia Capo Cayman Centrale Ceuta
    Chimborazo Ciad Cile Cina Cipro Città Clipperton Cocos Comore Congo Cook Costa Emirati Erzegovina Esterne
    Eswatini Falkland Francesi Garcia Ghana Giamaica Gibuti Grecia Grenada Guadalupa Guernsey Haiti Heard
    Indiano Iraq Irlanda Islanda Kenya Kirghizistan Kong Kosovo Kuwait Latina Leone Lesotho Libano Liberia Lucia
    Maarten Macedonia Malawi Maldive Mali Malta Man Marino Marshall Martinica Mauritania Mauritius Mayen Mayotte
    Messico Micronesia Moldavia Monaco Mongolia Montenegro Myanmar Namibia Nazioni Nevis Nigeria Nordafrica
    Oceania Oceano Orientale Paesi Palestinesi Pierre Polacco Portogallo Portorico Pseudo Regione Repubblica
    Riunione Russia Salvador Samoa San Sandwich Saudita Serbia Seychelles Sierra Singapore Sint Slovacchia Sud
    Sudan Suriname Svalbard Svezia Tagikistan Tajikistan Terre Territorio Tobago Tornedalen Tunisia Turchia
    Uganda Unione Uruguay Venezuela Verde Vergini Vincent Zelanda acconto adangme afrihili aghem ainu akan altai
    altopiano americana anga angika anii arapaho armeno asiatico asturiano asu austral austriaco avaro awadhi
    azero badaga bakhtiari balinese bamun bangladese banjar baschiro basso batak bavarese begia belga bhojpuri
    bhutanese bicol bislama bodo bosniaco brahui bretone bugi buriat cabardino caddo cambogiano cantonese
    capiznon cayuga ceca ceceno chakma cherokee chilcotin chinook chipewyan choctaw ciadiano ciagataico cipriota
    ciuvascio coloniese composita convertibile coreano corona cree croata croato cruzeiro dari day dazaga degli
    dei dell delle dello dicembre dinar dirham diula dobra dogri dogrib dong dram duala dzongkha ebraico
    egiziano ekwele emiliano eritreo escudo esperanto europeo fang fanti febbraio fenicio fiammingo figiano
    franco gaelico gagauzo ghego giavanese gilbertese giordano gotico gourde grebo greco grivnia groenlandese
    guatemalteco gusii haida haitiano hakka hawaiano herero iban ibibio iche ido ilongo indicizzate indonesiano
    inglese ingrico ingush innu inti inversion iraniano islamico islandese italiana kachin kaingang kako kalmyk
    kalpak kamba kanembu kangri kara karachay karbovanetz kashubian kawi khotanese kikuyu kina kirghiso kom
    konkani kosraean koyra koyraboro kpelle kuanyama kupon kurukh kutenai kwanza kyat lao latino lats leone
    letgallo lettone lilangeni lingala lingua lira lituano livone lombardo loti luba luiseno lulua lushai
    macedone madurese mafa makonde malawiano malecite malese malgascio maltese mandar mandingo marathi mari
    marocchino martedì masai mauriziana mazandarani mbundu medumba meetto mende mengrelio messicano meta metical
    micmac moose mossi motu mvdol namibiano napoletano ndebele neozelandese nessun ngambay nias nicaraguense
    nigeriana norse norvegese novembre noviy nuer nyamwezi nyanja nyasa nzima occidentale odia oji ojibwa ojibwe
    olandesi ossetico pahlavi pali palladio panamense pashto pataca peso pianure piccardo pidgin piemontese
    pontico prussiano quechua quetzal rand rarotonga reajustado renmimbi rotumano roviana ruandese rundi russo
    ruteno sacha salvadoregno same samia samoano sardo sasak sassarese saudita selayar selkup seneca senni serbo
    serer shan siciliano siksika singalese siriaco siriana slavo slovacco som sotho sovietico spagnola speciali
    sranan sucre sud sudafricano sudanese sudcoreano sukuma sumero swati syli tagalog tahltan taitiano taiwanese
    taliscio talonas tamashek tamazight tasawaq tashelhit telugu teso tigre tlingit tongo tugrik tunisino turco
    turkmeno turoyo tyap ucraina udmurt uiguro ungherese unidad unidades uruguaiano uzbeco valuta venda
    venezuelano vietnamita volapük vunjo võro wala walamo washo wolof xiang yao yapese yemba yemenita yen
    yugoslavo zaire zambiano zelandese zenaga zoroastriano zuni`,
  pt: `
    Afegane Africana Albanês Albânia Americanas Argélia Armênia Asiático Atlas Austral Austrália Azerbaijão
    Bahamas Baht Baixos Banco Barbados Bartolomeu Bielorrússia Birmânia Boliviano Bolívar Bolívia Botsuana
    Brasil Britânicas Brunei Bósnia Cabo Caicos Camboja Canárias Cedi Central China Chinook Chipre Cocos Colom
    Colômbia Comores Composta Congo Constante Conta Coreia Costa Cristóvão Cuanza Cuba Cupon Código Córdoba
    Dalasi Diego Dinamarca Dinar Distantes Djibuti Dobra Dong Dracma Dram Equador Eritreia Espanha Especiais
    Estados Estônia Faso Fomento Franceses Franco Garcia Geórgia Gibraltar Granadinas Groenlândia Grécia Guarani
    Guatemala Guernsey Guiana Guiné Helena Holandesas Ilhas Indonésia Iraque Irã Israel Iêmen Jersey Jordânia
    Keeling Kina Kinshasa Kuna Kuwait Lari Latina Lats Lek Lempira Leoa Leone Lesoto Leste Lev Libra Libéria
    Lilangeni Lira Lule Líbia Lúcia Macedônia Madagascar Malaui Mali Malvinas Manat Marca Marco Marfim Marianas
    Mayotte Menores Mexicana Mongólia Mundo Mvdol Nauru Nações Nepal Nicarágua Niue Norfolk Noruega Nova Nyasa
    Oceania Oceano Ocidental Ostmark Ouguiya Paládio Panamá Países Pedro Peru Peseta Polinésia Popular Porto
    Príncipe Pula Quiribati Rand Real Região Reino Reunião Rica Ringgit Riyal Romênia Rupia Salomão Salvador
    Sandwich Saudita Sint Sol Som Somoni Sudeste Sudão Syli Sérvia Taka Tala Talonas Tanzânia Tenge Territórios
    Teste Togo Tokelau Tristão Turquia Ucrânia Uganda Unidade Unidas Valor Vaticano Virgens Wallis Yuan Zaire
    Zimbábue Zloty Zâmbia acadiano achém afrihili aghem aleúte algonquiano altai anga angolano antiga aramaico
    arcaico armênio asturiano atikamekw avárico avéstico awadhi azerbaijano azeri bafia bafut baixo balúchi
    bamum bareinita basa beja belizenho bemba bena bielo bikol birmanês blin bodo bokmål brasileiro bretão
    buriato caddo caingangue canarim cantonês canúri carélio central chadiano chagatai chamorro cheiene cheroqui
    chileno chinês chipewyan choctaw cingalesa cipriota clássico colombiano comoriano coreano corso cree curdo
    córnico dacota desconhecida dezembro dinamarquesa dinamarquês dinar dinka diúla dos dzonga dólar
    eclesiástico egípcia ekajuk embu erzya escocês eslovaca estoniana etíope feroês fijiano financeiro
    finlandesa forte francês friulano gambiano gaélico georgiano ghomala grego guianense gótico hauçá havaiano
    herero hiligaynon hitita hmong holandês iban idioma iemenita indexadas indonésio inguche interlingue
    interlíngua inupiaque iorubá islandesa islandês israelense italiana jamaicano janeiro jargão javanês jju
    jola julho kako kalpak kamba kandri karachay kashubian kawi khmer khotanês klingon kom komi koro kosraean
    koyra kurukh kuwaitiano kwasio kölsch ladino lamba lapão lei lesotiano liberiano ligure limburguês lombardo
    lozi luiseno lulua luri maba macaense macedônio machame maconde macua madurês mafa magahi maio malaio
    malauiana malecite malvinense manchu mandar mandinga manx maori marroqino marroquino mauritana medumba meru
    mianmarense michif min minangkabau mocsa monegasco mongo mongol moçambicano múltiplos nama neozelandês
    nepalês newari ngambay ngiemboon nianja nias nogai norueguesa nyoro nórdico ocidental ojibwa palauano
    palestinos panamenho pangasinã papuásia permyak pohnpeiano polonês português prussiano quarta quiniaruanda
    quirguiz quíchua rajastani rarotongano rombo ruandês russo rwa sakha salish salvadorenho samaritano sango
    sasak saudita sem seneca serere servo shekel siksika simplificado slave socialista sol soninquê sorábio
    suaíli sukuma sul sumério sundanês suíço swampy símbolos tadjique taita taiwanês tanzaniano tasawaq teso
    tigré tigrínia tlinguite toki tonganesa tonganês toquelauano tradicional tsonga tswana turco turcomeno
    tutchone tuvaluano twi tétum umbundu unidades uruguaio venda verdiano vietnamita volapuque vunjo vêneto
    walser xiang yao zarma zona zunhi África Índia Índico árabe`,
  nl: `
    Accenten Adangme Afar Afghanistan Afrikaans Aghem Aino Akan Alabama Albanese Aleoetisch Algerijns Algerijnse
    Algonkisch Amerikaans Amhaars Andorra Andorrese Anii Antilliaanse Arabisch Arabië Aramees Arapaho Ascension
    Asturisch Atikamekw Atsam Australische Aymara Badaga Bafia Bafut Balinees Balkarisch Bambara Banjar Basa
    Baskisch Batak Bataviaans Beiers Belarus Belize Bengaals Bengalese Bermuda Bhojpuri Bhutan Bidi Bikol
    Bishnupriya Bissau Bissause Blin Bodo Bosnische Bouveteiland Braj Brazzaville Brits Britse Bruneise Buginees
    Bulgaars Bulu Burkina Burundese Caddo Cajun Caledonië Cambodja Canadees Capiznon Cayuga Ceuta Chagatai
    Chamorro Cheyenne Chiini Chileense Chili China Chipewyan Clipperton Colombia Colombiaanse Comoren
    Cookeilanden Corsicaans Cree Creek Cuba Cyprisch Dakota Dazaga Deense Divehi Duala Duits Dusun Egypte
    Eilanden Engels Equatoriaal Erzja Esperanto Estisch Estland Estlandse Ethiopië Europese Ewe Fanti Fijisch
    Finland Foenicisch Frans Franse Futuna Gaelisch Gagaoezisch Galicisch Gambiaanse Gebarentaal Gebieden
    Georgia Georgië Ghomala Goud Grenadines Guam Guaraní Guernsey Gurune Gusii Guyana Gwich Haida Hausa
    Haïtiaans Heard Heleens Herero Hondurese Hongkong Hupa IJslands Ibibio Ierland Iers Iloko Inari India
    Indonesië Ingrisch Inuktitut Iraakse Iraanse Iran Isle Israëlische Italië Jamaicaanse Jan Japan Japans
    Japanse Jargon Jemen Jiddisch Jola Jordanië Judeo Jutlands Kabardisch Kachin Kako Kamba Kangri Karakalpaks
    Karelisch Katanga Kenia Keniaanse Kenyang Khotanees Khowar Kinaray Kinyarwanda Kirgizië Kirundi Kleine
    Koeweit Koeweitse Kom Kongo Koninkrijk Konkani Koreaans Koreaanse Koro Kosovo Koyraboro Kpelle Kroatische
    Kuanyama Kurukh Kutenai Kwak Lakota Laos Laotiaans Laotiaanse Lazisch Lesothaanse Lets Letse Liberiaanse
    Libische Limburgs Lingala Lingua Lojban Louisiana Lozi Luba Luganda Lule Lulua Luo Luxemburgs Luxemburgse
    Maarten Maba Macause Macedonische Makonde Malawische Malayalam Maldiven Maliseet Mandar Mandarijn Marathi
    Mari Marino Marokkaanse Marokko Martinique Marwari Melilla Meru Middelfrans Middeliers Minangkabau Minnanyu
    Mirandees Mongo Morisyen Mozambique Mundang Myanmarese Namibische Namibië Naties Ndebele Ndonga Nheengatu
    Nieuwe Niue Nogai Noordelijk Noordelijke Noors Nova Nyamwezi Nynorsk Nyoro Nzima Obolo Oceanië Oegaritisch
    Oekraïens Oekraïense Oezbekistan Ojibwa Okanagan Oude Oudengels Oudgrieks Oudhoogduits Oudiers Oudperzisch
    Oudpruisisch Pahlavi Palau Pali Palladium Panama Panamese Papoea Paraguay Pasjtoe Pennsylvania Permjaaks
    Peru Perzisch Picardisch Pidgin Pierre Pijin Piëmontees Pohnpeiaans Pona Pontisch Pseudo Punjabi Rapanui
    Reto Ricaanse Roetheens Rohingya Romagnol Rombo Rwa Rwandese Saamia Saho Salish Salvador Samisch Samoa
    Sandawe Sangu Sanskriet Santali Sasak Sassarees Saurashtra Schots Sena Senni Serer Servisch Servo Seychelse
    Shambala Shimaore Sierra Siksika Singalees Sint Sloveens Slovenië Slowaakse Soedanese Soga Sogdisch Somalië
    Soninke Spaans Spaanse Spanje Standaard Sukuma Syrië Tagalog Tahltan Taiwanese Talysh Tereno Teso Thai
    Thailand Timorese Tlingit Toba Togo Tok Tokelau Tokelaus Tomé Tongaans Tongaanse Tsjaad Tsjechisch
    Tsjetsjeens Tswana Tulu Turkmeens Turks Tutchone Tuvalu Tyap Urdu Uruguayaanse Vai Valor Vanuatu
    Vanuatuaanse Venda Verenigd Vietnam Vincent Volapük Volksbank Votisch Waals Walser Waray Westelijk
    Westelijke Westers Wit Wolof Xiangyu Zambiaanse Zarma Zaïrese Zeeland Zeelandse Zhuang Zilver Zimbabwaanse
    Zoroastrisch Zuid Zuidelijk Zuidelijke Zuni Zweden Zweedse Zwitserduits Zwitserse account aimun augustus
    austral balboa bolivar colon colón cupon dinar dinsdag dirham donderdag dong eenheid escudo februari
    financiële fondsen franc gebied hervormde hwan inti kina koruna kuna kwanza lek lev lire loti manat markka
    mei metical modern munteenheid naira nakfa noviy offshore ostmark ouguiya pond quetzal real rial ringgit
    roepia shekel shilling sol sum talen talonas van volgende woensdag won yen yuan zaterdag zelfde zuidelijke
    Åland`,
  sv: `
    Afghanistan Alabama Albanien Amerikanska Anguilla Antarktis Antigua Arabemiraten Armenien Ascension Asien
    Australasien Australien Bank Barbados Bolivia Bosnien Bouvetön Ceuta Chile Chimborazo Colombia Cunha Danmark
    Dominikanska Ecuador Eswatini Europa Europeiska Faso Frankrike Franska Gambia Garcia Georgien Grekland
    Grenada Grenadinerna Guyana Helena Hercegovina Honduras Indien Indonesien Irak Irland Island Jan Japan
    Jordanien Julön Karibien Kenya Kina Kinshasa Kokosöarna Kosovo Kuwait Laos Libanon Liberia Luxemburg Maarten
    Macao Madagaskar Main Malta Marocko Mauretanien Mayen Mikronesien Moldavien Mongoliet Montserrat Moçambique
    Myanmar Nauru Nepal Niue Nordafrika Nordamerika Oceanien Oman Palau Paraguay Peru Pfalz Puerto Rumänien
    Rwanda Samoa San Saudiarabien Sierra Singapore Sri Subsahariska Svalbard Sverige Sydeuropa São Tanzania
    Tchad Timbuktu Tokelauöarna Tristan Tunisien Turkmenistan Turks Tuvalu Ukraina Ungern Vanuatu Verde Vietnam
    Vincent Västafrika Västeuropa Wallis Zeeland acehnesiska adangme afar afrikansk aleutiska algonkinska
    amerikanskt amhariska andorransk angika april arameiska araoniska ariary armenisk armeniska assamesiska
    asturiska atikamekw avariska avestiska baht bakhtiari bakossi balboa balkar basjkiriska batak belarusisk
    belarusiska bemba bengali bermudisk betawiska bhojpuri bhutanesisk bidi bikol blin boliviansk brahuiska braj
    brasiliansk brittisk buginesiska bulgariska burmesiska burundisk caddo cayuga cebuano centraldusun chagatai
    chakma cherokesiska chibcha chilcotin chinook colombiansk costarikansk cree cupon cypriotiskt dag dalasi
    danska darginska dari december delaware denar dinar dirham djiboutisk dobra dominikansk dram duala
    ecuadoriansk efik egyptiskt emiliska engelska escudo etiopisk etiopiska ewe ewondo februari fejkade finsk
    flamländska fomento forint fornengelska fornhögtyska frankiska friulianska förenklad gaeliska gagauziska
    gegiska georgisk georgiska ghanansk gibraltiskt gondi gotiska grekisk guatemalansk gujarati guld gulden
    guldfranc hawaiiska hercegovinsk herero hettitiska hirimotu hryvnia hwan högsorbiska högtyska ibanska ido
    indexadas indisk indonesiska inget ingriska ingusjiska innehåll interlingue inuktitut inuktun inupiak
    inversion israeliskt italiensk jakutiska jamaicansk javanesiska jola jordansk jupiska jylländska kabardinska
    kachin kamba kambodjansk kanadensisk kapverdisk kashmiriska katalanska katanga kikongo kimbundu kina
    kinesisk kinjarwanda kirgizisk kirmanjki kiyao klassisk komorisk konkani koreanska kuanyama kumykiska kuna
    kurukh kwanza lakota lamba larit latin latinsk lats lempira leu liberiansk libysk lilangeni limburgiska
    lingala lingua lire litauiska lombardiska loti luiseño lushai lågsaxiska lågsilesiska mafa maj makasar
    malawisk malaysisk malisk maltesisk maltesiska maltesiskt manchuriska manipuri marathi mariska marwari
    mauritansk medelfranska mennonitisk meta meänkieli mkako moksja moldavisk monetär mongo moose mossi muskogee
    muslimsk mvdol myanmarisk myene måndag naira nakfa napolitanska navaho nepalesiska ngomba ngultrum nheengatu
    nordfrisiska nordluri nordndebele nordsotho norskt nova nyoro occitanska offshore omansk onsdag oriya oromo
    ossetiska palladium pangasinan papuansk paraguayansk persiska peso pidgin pohnpeiska polska pona pontiska
    punjabi rand rapanui reajustado real republiken rial riel romani rufiyaa rumänska rundi ruáingga rwandisk
    ryska rätoromanska salvadoransk samaritanska samma samoanska sanskrit schilling schweizisk selayar selkup
    seneca serbisk serbiska sicilianska sierraleonsk silesiska sindhi skotsk slovensk som somaliska somoni
    soninke sovjetisk sranan sucre sudanesiskt sukuma sumeriska svensk swaziländsk sydkoreansk sydndebele
    sydostcree sydsamiska sydsotho sydtutchone syli södra söndag tahitiska tahltan taita tala tamazight
    tanzanisk tasawaq tatariska teckenspråk telugu tenge teso test tetum thailändsk tibetanska tigrinja tisdag
    tjetjenska tok toki tongansk traditionell tsonga tulu tumbuka turoyo tuvaluanska tuviniska twi tyap tysk
    tögrög udmurtiska ugaritiska ukrainsk ukrainska umbundu ungersk unidad unionen urdu vaj valuta venetianska
    venezuelansk veps volapük västojibwe walsertyska waray xhosa xiang yen yoruba yuan zairisk zapotek zazaiska
    zhuang zoroastrisk Åland Östasien Österrike Östtimor östkaribisk`,
  da: `
    Afghansk Albanien Amerikanske Angola Angolansk Anguilla Antigua Argentina Armenien Aruba Australasien
    Bahamas Barbuda Belgisk Benin Bissau Boliviansk Botswana Bouvetøen Brasiliansk Brazzaville Brunei Burkina
    Burundi Cambodja Canada Caribien Ceuta Chile Colombia Cookøerne Cuba Cunha Curaçao Cypern Cypriotisk Danmark
    Den Djibouti Dominikanske Egypten Emirater Escudo Estisk Eswatini Fiji Filippinerne Finsk Fransk Franske
    Færøerne Gabon Georgisk Guadeloupe Guinea Guineansk Honduras Indonesien Iran Irland Islands Italien Jersey
    Jugoslavisk Juleøen Kaledonien Kanariske Kap Kasakhstan Kenya Kina Kinshasa Kirgisistan Kitts Kosovo
    Kroatisk Kuwait Lanka Latinamerika Letland Litauisk Maarten Madagaskisk Maldiverne Maltesisk Marokko Mayotte
    Melanesien Mexico Mikronesiske Miquelon Monaco Montserrat Moose Myanmar Nationer Nederlandske Nepal New
    Nicaragua Nicaraguansk Niger Nordeuropa Nordkorea Ocean Papua Pierre Polsk Rica Rumænsk Russisk Réunion
    Salomonøerne Samoa San Sao Serbien Serbisk Sierra Singapore South Sudansk Svalbard Sverige Sydafrika
    Sydkorea Sydlige Sydøstasien São Sølv Taiwan Tanzania Tchad Territorium Thailand Tjekkiet Tobago Togo
    Tunesien Tuvalu Tyrkiet Tysk Tyskland Uganda Ugandisk Ukendt Uruguay Vanuatu Vestafrika Vestasien Vietnam
    Wallis Yemenitisk Zambia Zimbabwe abkhasisk adangme afghansk aimun ainu albansk aleutisk amerikansk amharisk
    anga aragonsk aramæisk arapaho arawak ariary arubansk assamesisk asturisk asu atsam avestan aymara bahamansk
    baht balinesisk bambara basaa baskisk belarusisk belizisk bena bengali bhojpuri bidi blissymboler bodo
    bolivar boliviansk bosnien botswansk brasiliansk bretonsk buginesisk buriatisk burundisk cambodjansk
    caribisk carolina caymansk cayuga cebuano cedi chagatai chakma chamorro cherokee chinook colon cornisk
    costaricansk cree dag dari delaware denar dinar dobra dominikansk dram duala dyula ekajuk enaresamisk
    eritreisk esperanto etiopisk europæisk ewe filippinsk financial finsk flamsk flere florin fonyi forint franc
    fredag fulah gan ghanesisk gilbertesisk gorontalo guarani guilder guinea guineansk guyansk gwichin gælisk
    halkomelem hawaiiansk hebraisk herero hiligaynon hmong honduransk hupa hwan iban ido igbo indisk indonesisk
    ingush innu intet iransk japansk jiddisch juni jødisk kabylsk kaingang kamba kantonesisk karbovanetz karelsk
    kasakhisk kasjubisk kawi kenyansk kinyarwanda kip kirgisisk klingon kom komi kongo konto koptisk koruna
    koyra kpelle kreolsk kroatisk kroon kutenaj kwanza kwasio kyat kölsch ladino lahnda lakota lao lari lek
    lempira lesothisk leu lezghian libanesisk liberisk ligurisk lillooet limburgsk lingala lombardisk lozi
    luiseno lushai luxembourgsk luyana machame makasar malawisk mandingo manipuri mapudungun marathi marokkansk
    marshallese marwari masai mauritansk mauritisk meetto mende meru michif mirandesisk mohawk moldovisk
    monegaskisk morisyen mozambiquisk myanmarsk myene naira nakfa namibisk ndonga newari newarisk newzealandsk
    ngambay nias nordøstcree norsk noviy novo nyamwezi nyanja nyankole nyasa nynorsk næste occitansk offshore
    oktober oldgræsk oldhøjtysk oldpersisk omansk område osmannisk pampanga panamansk papiamento papuansk pashto
    persisk peseta peso pisin pona pula pund punjabi qatarsk quiché rand rapanui reformeret rhodesisk riel
    ringgit romani rubel rupi rupiah russisk rwandisk rætoromansk saho salomonsk samaritansk samburu samme
    sanskrit sasak schilling serer seselwa shekel sidamo silver sindhi skoltesamisk slovakisk slovensk soga som
    somalisk soninke sorani sprog srilankansk sundanesisk surinamsk susu svensk swahili swampy sydaltaisk
    sydkoreansk sydndebele sydsamisk sydsotho sydsudansk sydøstcree tadsjikisk tagalog tahltan taka tala talonas
    tanzanisk tasawaq tchadisk temne tibetansk tidligere tirsdag tjetjensk tjuvasjisk tlingit toki torsdag
    trinidadisk tsimshisk tugrik tunesisk ugandisk ukendt ukrainsk uruguayansk uygurisk vallonsk valuta vanuaisk
    venda venezuelansk vestfrisisk vestojibwa washo wolof won yemba yemenitisk yen yuan zaire zairisk zambisk
    zarma zenaga zhuang zulu Åland Østeuropa Østtysk østrigsk øvresorbisk`,
  fi: `
    Afrikan Ahvenanmaa Alankomaiden Amerikan Amerikka Angola Antarktis Antigua Arabia Arabian Argentiina Armenia
    Armenian Bahama Bahrainin Barbados Barthélemy Belize Bhutan Bhutanin Bolivia Bosnia Botswana Brasilian
    Britannia Brittiläinen Burkina Burman Burundi Burundin Caymansaaret Ceuta Djiboutin Ecuadorin Egypti Egyptin
    Eritrea Eritrean Espanjan Etelä Etiopia Etiopian Euroopan Eurooppa Fidžin Färsaaret Ghanan Gibraltar
    Grönlanti Guadeloupe Guam Guernsey Guinean Guyana Guyanan Haiti Haitin Helena Hertsegovina Hongkongin
    Huippuvuoret Irlanti Islanti Israel Itä Jamaika Jamaikan Jan Japani Jemen Jordanian Kaakkois Kaledonia
    Kambodžan Kanadan Karibian Kazakstan Kazakstanin Kenia Kirgisia Kitts Kolumbian Komorit Kookossaaret Korea
    Korean Kreikan Kroatian Kuwait Kuwaitin Kypros Lanka Lankan Latinalainen Latvian Liberia Liberian Libyan
    Luxemburgin Maarten Macao Madagaskar Makedonia Makedonian Malediivit Malta Maltan Marino Martin Martinique
    Mauritius Mayen Mayotte Monacon Mongolian Montenegro Mosambik Mosambikin Namibia Nauru Nicaragua Nigerian
    Niue Oman Omanin Palau Panaman Pitcairn Pohjois Polynesia Portugalin Príncipe Príncipen Puola Qatar Ranskan
    Rican Rico Romania Ruanda Ruotsin Réunion Sahara Saharan Saksan Salvador Salvadorin San Sark Seychellit Sint
    Slovenia Slovenian Somalia Somalian Surinamen Sveitsi Sveitsin Swazimaan Syyria Taiwanin Tansanian Tobago
    Tobagon Tokelau Tomé Tristan Tunisia Turkin Ukraina Unkari Uruguay Uusi Valko Vatikaani Venezuelan Vietnam
    Vietnamin Viro Yhdistyneet Yhdysvaltain Zairen Zimbabwen afgaani afrihili aimara ainu akan alaskanjupik
    alasorbi alue antarktiset aragonia araona assami asturia atšeh bafia bahtiari baijeri bali basaa batak
    belutši bhodžpuri bilin bini birr bišnupria blisskieli bosnia bradž bretoni bugi bulgaria bulu cajunranska
    cayuga chakma cheyenne chuuk cree creek cruzado córdoba dalasi dam dargi dinka dirhami djerma dogrib dollari
    dong dram duala dzongkha ekwele elokuuta ersä espanja eteläinen ewe ewondo fang fidžinhindi filipino
    foinikia franca friuli fulani gaeli gagauzi gajo galicia gan georgia gilaki gootti guarani gwitšin haiti
    haryanvi heetti helmikuuta herero hindi hinglish hiri hopeapeso huhtikuuta hwan iban ibibio iiri indexadas
    indonesia inkeroinen interlingua interlingue inuktitut islanti italia itäfriisi jao japani japi jiddiš
    joruba joulukuu kabyyli kaingang kalenjin kalmukki kamba kanembu kanuri karatšai karbovanetz karjala
    katalaani katanganluba kašubi keski keskiranska kesäkuu ketšua khmer khotani kieliä kiga kiina kimbundu
    kinaray kirgiisi kirkkoslaavi klassinen klingon koltansaame konkani korea korni kotava kova kreikka kroatia
    kultafrangi kumykki kuna kurdi kurukh kutenai kwacha kwanza kölsch ladin lahnda lati lauantai lazi lempira
    leone leu lev liettua liivi lingua liti lojban lozi luiseño lunda lusai länsi maailma maanantai maasai
    makassar makhuwa makonde makua manat mandar manipuri manksi mapudungun mari markka marraskuu marshall
    medumba meänkieli micmac morisyen muinaisiiri muinaisnorja mundang mvdol nama navajo nepali ngultrum
    nimellinen njandža norjan nynorsk obolo offshore okanagan orija osage osseetti ouguiya pahlavi palau
    pandžabi pangasinan perinteinen picardi pohjoissotho pohnpei pula punta päivä rahastot randi ranska rapanui
    real retoromaani riel roviana ruotsi rupia ruteeni saho salish samburu sanskrit sauraštri seelanti sekeli
    selkuppi sena serbia seuraava siksika sindhi sisilia sloveeni somali somoni soninke soranî sranan sucre
    sukuma sumeri sunnuntai swampy syyskuu syyskuuta taita taka tala talonas tamazight tamašek tamili tanska
    tarifit taroko tati tenge teso tetum thai tigre tigrinja tiistai tili tiv torstaina torwali toukokuu
    toukokuuta tsonga tugrik tuntematon turkki turkmeeni turojo tuva twi tyap tšadinarabia tšetšeeni tšuvassi
    udmurtti ukraina unidades unioni urduni useita uusi uzbekki vaihdettava vakioitu valkovenäjä varattu venäjä
    vietnam vuorimari waray wolof xiang yemba yläsorbi zaire zuni`,
  nb: `
    Afghanistan Afrika Amerika Amerikansk Anguilla Antigua Argentina Armenia Asia Barbados Barthélemy Belize
    Bhutan Brasil Burma Burundi Caicosøyene Ceuta Chimborazo Colombia Cuba Cunha Det Eritrea Europa Filippinene
    Finland Færøyene Garcia Ghana Grønland Guadeloupe Guam Guatemala Heard Helena Honduras Hongkong Irak Irland
    Japan Jersey Jordan Karibia Karibisk Kasakhstan Kenya Kinas Korea Kypros Laos Latin Latvia Lucia Maarten
    Madagaskar Malta Man Marianene Marino Martin Mauritania Mayen Mellom Montserrat Namibia Nauru Niger Niue
    Nordlige Norfolkøya Oman Oseania Paraguay Portugal Príncipe Russland San Saudi Sentral Sierra Singapore Sri
    Surinam Svalbard Sveits São Tadsjikistan Taiwan Togo Tristan Turkmenistan Tuvalu Ukraina Ungarn Uruguay
    Wallis Ytre abkhasisk adangme afar afgansk afrihili afrikaans ainu akan akkadisk akose aksenter alabama
    aleutisk amerikansk amharisk andorranske angolanske april aragonsk arapaho argentinsk argentinske armensk
    aromansk arpitansk assamesisk asu atikamekw august avadhi avarisk avestisk aymara badaga bafut bahrainske
    baht baluchi bamun basjkirsk beliziske bemba bena bengali bislama blissymboler bokmål bolivar boliviano
    brahui braj brasilianske bruneiske burjatisk caddo cajunfransk carolinsk cebuano cedi chamorro cherokesisk
    chibcha chiini chipewiansk colon creek cruzados cupon córdoba dari dazaga desember dinarer dirham
    djiboutiske dobra dollar dominikanske drakmer dram duala egyptisk ekajuk ekwele elamittisk enhet eritreiske
    erzia escudos estisk estiske eurosonen ewe ewondo fang fanti februar fijiansk filipino filippinske finsk
    finske folkebank fomento fonyi forenklet frankisk franske gagausisk galisisk gambiske gamle gayo gbaya
    gibraltarske gileki gotisk gourde gresk grønlandsk guineana gull guyanske gwich haitiske haryanvi hausa
    hiligaynon hinglish hupa iban ibo iloko indonesiske innhold interlingua inti inversion irakske iranske irsk
    irske israelske italiensk italienske januar jemenittiske jiddisk jugoslaviske jødearabisk jødepersisk
    kabardisk kako kalenjin kamba kanembu kangri kapiz karbovanetz karibisk kasakhisk katalansk katanga kenyang
    khmer khotanesisk kichwa kina kinesisk kirgisiske kirkeslavisk kirmancki kongolesisk konkani konto
    konvertibel koptisk kornisk kotava koyra koyraboro kroatisk kroatiske kubanske kuna kutenai kuvi kuwaitiske
    kwacha kwanza kypriotiske kølnsk langi laotisk laotiske larit latin lats latvisk lavschlesisk lazisk lek leu
    lev libyske ligurisk lilangeni lillooet lingala lingua lire litas lombardisk lozi luba luhya luiseno lunda
    lushootseed luxemburgsk maba madagassiske mafa magahi makaoiske malaysiske maldiviske maliseet maltesisk
    mandar manipuri mark marokkanske marrokansk masai mauritisk meetto meksikanske mingrelsk minnan moksja mongo
    mossi motu mundang mvdol myanmarske naira najdi nepalske newari ngambay nias niueansk nogaisk nordvestlig
    november noviy novo nyanja nyankole oji okanagansk oktober omjusterte område området onsdag oromo osage
    ouguiya palatintysk palauisk palestinske palladium pangasinan papuanske pataca persisk peruanske pesetas
    peso piemontesisk pijin polsk ponapisk portugisisk portugisiske qatarske quechua rajasthani rapanui
    republikk retoromansk rialer riff riyaler rotumansk roviana rumensk rumenske rundi saho salish samburu samme
    sandawe santali saotomesiske sardisk saterfrisisk saurashtra selayar selkupisk sena sentral seselwa
    seychelliske shilling sidamo sierraleonsk siksika sindhi slovakisk slovakiske soga sogdisk som somali
    somaliske sosialist språklig srilankiske standard straits sveitsertysk sveitsiske swahili sølv søraltaisk
    sørlig tadsjikisk tahitisk taka tamazight taroko tasawaq telugu tenge territoriet teso thai tigré torsdag
    trinidadiske tsimshian tsjadisk tsjagatai tsjuvasjisk tunisiske turkmensk turkmenske turoyo tuvinsk
    ugandiske ukrainsk ukrainske umbundu unidad usbekisk valuta valutaenhet vatu veier vepsisk vestlig
    vestmarisk vietnamesisk votisk vunjo wala walisisk waray wolaytta wolof xhosa yen ytre zaire zapotekisk
    zarma zeeuws zimbabwisk zimbabwiske zloty zulu zuni Åland Østerrike østcree østfrisisk øyer`,
  pl: `
    Afganistan Albania Algieria Ameryka Amerykańskie Andora Antarktyczne Arabskie Argentyna Aruba Australazja
    Azja Bahrajn Bangladesz Barbuda Barthélemy Bermudy Birma Boliwia Bośni Brazylia Burkina Bułgaria Caicos
    Chile Chorwacja Cooka Curaçao Cypr Czad Czarnogóra Czechy Dania Dominika Dominikana Egipt Ekwador Emiraty
    Erytrea Estonia Falklandy Filipiny Finlandia Franca Francja Francuska Francuskie Garcia Ghana Grenada Guam
    Guinea Gujana Gwatemala Gwinea Gwinei Heleny Hercegowina Holandia Irlandia Izrael Japonia Jersey Kambodża
    Kanada Kanaryjskie Karaibskie Karaiby Karolina Katar Kirgistan Kiribati Kokosowe Kolumbia Korea Kosowo Kuba
    Lanka Liban Litwa Lucia Macedonia Malediwy Malta Man Marino Martin Mauretania Mauritius Mauritiusa McDonalda
    Melilla Mikronezji Moose Mołdawia Narodzenia Narodów Nauru Niderlandy Oceania Pakistan Palau Palestyńskie
    Panama Peru Południowa Południowe Południowo Rumunia Równikowej Saint Samoa Sandwich Sierra Sint Stany
    Stanów Suazi Sudan Svalbard Syria Szwajcaria Szwecja Słowacja Terytoria Terytorium Tokelau Tristan Turcja
    Tuvalu Vanuatu Vincent Watykan Wenezuela Wielka Wschodnia Wyspy Włochy Zachodnia Zielonego Zimbabwe
    Zjednoczone aczoli adangme afgani afgańskie afrihili afrikaans akadyjski alabama aleucki algonkiński
    amharski andorska angika angolańska angolska anii antylski argentyński arumuński austral australijski
    austriacki awadhi bafut bagienny bahamski bahrański baht balboa banjar barbadoski baskijski belizeński
    beludżi bemba betawi bhodżpuri bhutański białoruski birmański bislama bisznuprija blin bodo bośniacki brahui
    brak bretoński brunejski bulu cebuański charakterze chiga chilcotin chiński chorwacki cygański czagatajski
    czeczeński czejeński czeska czeski czinucki czuang czwartek dalasi delaware denar diola dobra dogri
    dolnośląski drachma dram duńska duński dzongkha dżerma dżibutyjski efik ekajuk ekwadorski erytrejska
    esperanto estońska estoński europejska europejski ewondo fidżyjskie filipiński filipińskie fon forint frafra
    francuski fryzyjski fulani gaelicki gagauski gbaya ghomala gibraltarski gorontalo grebo grecka gruziński
    gruzińskie gujański gwara gwinejski górski haitański haryanvi hausa hawajski hebrajski hiligaynon hindi
    hiszpański hmong holenderski honduraska hongkoński hupa iban inari indonezyjska ingryjski innu inti
    inuktitut irański izraelski japski jawajski jordański joruba juan język kabardyjski kaingang kajuga
    kambodżański kanadyjski karaibski karelski kaszmirski kałmucki kenijski khasi khowar kiat kikuju klingoński
    komi komoryjski kongijski konto korsykański koyraboro kri krik krio kumycki kuna kuwejcki kwacha kwanza
    kwiecień kyat lamba laotański lek liberyjski liguryjski lilangeni lillooet lingala lipca lit litewski lojban
    luiseno luksemburski luryjski maba macedoński maithili makua malajalam malawijska malediwska malijski
    maltański manchu mandar mandingo marka marokański marszalski masajski megrelski mentawai mikmak miszif mizo
    mohawk monetarna mossi motu mozambickie mvdol nama namibijski nawaho ndonga ngombe niderlandzki nieznany
    nigeryjski njandża norweska norweski nowa nynorsk obolo odżi odżibwa ormiański pakistańska palatynacki palau
    panamski pangasinan papiamento październik pendżabski peseta pisin polski poniedziałek pontyjski
    portugalskie południowo południowy prawa radźasthani real region rial riel ringgit rohingya rombo rotumański
    roviana ruandyjski rubel rumuński rundi rusiński samarytański sambala samoański samoańskie sanskryt scots
    selayar sena senni serbsko seri seszelska seszelski shona sierpień sierpnia sindhi skolt sobota sol
    somalijski somoni soninke sorani sotho sotyjskie specjalne srebro starogrecki stary stycznia suahili
    sundajski susu syczuański szan szekel szkocki szwedzka słowacka tadżyckie tahitański tahltan tajwański taka
    tala talon tamaszek tamazight taroko temne tenge tereno timorskie tok tokelau toki tongo treści tsimshian
    tulu turoyo tuwiński twi tyap ugarycki ujgurski ukraińska umbundu uproszczony uzbecki vatu venda wai waluty
    wanuackie warlpiri wenecki wenezuelski wepski wietnamski wolof wotiacki współczesny wtorek wymienialne wyspy
    włoski xiang zair złoty Łacińska łaciński łat Świętego średnio`,
  cs: `
    Afghánistán Afrika Americká Americké Angola Anguilla Antigua Arménie Asie Australasie Austrálie Bangladéš
    Barma Bartoloměj Belgie Benin Británie Burkina Chile Chorvatsko Cunha Dominika Estonsko Evropská Faerské
    Falklandské Faso Fidži Francie Futuna Gan Ghana Gibraltar Gruzie Guinea Haiti Hakka Hercegovina Hora Indie
    Island Jamajka Jan Japonsko Kanárské Katar Kokosové Kongo Kosovo Kostarika Kuvajt Kypr Laos Latinská Libanon
    Lotyšsko Louisiana Malajsie Mariany Mauricius Maďarsko Melilla Mikronésie Minnan Miquelon Montserrat Nepál
    Nigérie Norfolk Nový Německo Omán Ostrov Palau Palestinská Panama Papua Pierre Pitcairnovy Pobřeží Polsko
    Pákistán Rakousko Rusko Rwanda Samoa San Saúdská Severní Singapur Slovensko Slovinsko Srbsko Střední Svatý
    Súdán Tokelau Tonga Trinidad Tunisko Turecko Tádžikistán Uganda Ukrajina Vanuatu Vatikán Venezuela Xiang
    Zambie Západní Zéland adangme afrikánština aimun ainština ajmarština akanština akolština altajština alžírská
    alžírský angličtina angolská aniiština aragonština araonština arawacké arménský arménština asturština asu
    athabaský austral australský avarština bafut balijština barmština basa batavština bavorština baškirština
    belgický bena bengálština benátština bislamština bosenština bradžština brahujština brazilský brunejský
    bulharština bulu burjatština běloruština březen cachurština cedi chetitština chiini chorvatská chorvatský
    chorvatština dakotština dargština dazaga delawarština den dinkština djula dobra dolnolužická dolnoněmčina
    dolnosaština dominikánské dong drachma dram dualština dzongkä dánská egyptská ekajuk ekwele elamitština
    etiopský eurozóna eweština filipínština finská fonyi fonština frafra franca francouzský franské fríština
    furlanština gagauzština gambijský gayo gaština geez ghanský grebo grónština guatemalský guinejsko gulden
    gwich gótština haidština halkomelem hauština havajština hingliš hiri historická hmongština honduraská
    hornolužická hornoněmčina hwan hřivna ibanština igboština inarijská indexovaných ingrijština interlingue
    inti investiční italština izraelská izraelský iština jamajská jangbenština jaoština japonský japonština
    japština javánština jazykový jednotkách jihokorejský jihovýchodní jola jorubština jupikština jutština jüan
    kaingang kalmyčtina kambodžský karačajevo karbovanec karibština kačijština kašubština kenyang kečuánština
    kiga kimbundština kičé klingonština konkánština konžština koptština korejština kornština koro korsičtina
    koruna kostarický kotava kuaňamština kwacha kwasio kód lakotština lat latina leden lempira leva lezginština
    liberijský ligurština limburština lingua listopad litas litevština lombardština lotyština luba lucemburský
    luhja luiseňo lulejská luluaština lúrština mafa magahijština makasarština makedonština makhuwština
    maledivština malesitština manat mandar mandžuština maorština mapudungun marka masajština mende meru mexická
    micmac minangkabau mizoština moderní mokšanština moldavština monacký mosambický mosi mozambický měna nakfa
    namaština ndebele ndondština neznámá ngiemboon nias niueština norská norština nová nzima névárština
    oromština ouguiya panamská paraguajské paštština peruánská peruánský peso pisin platina plautdietsch polský
    pondělí portugalské prosince pruština pálí quetzal rakouský reformovaný region reálné rhodéský rohingština
    romaňolština rombo rubl rupie ruský rwandský saliština samburu sangoština sasakština saúdský selajarština
    selkupština sena seneca senni siksika simulovaná sindhština sinhálština siswatština skotská slovenská
    slovenština slovinština sobota sol sonikština sranan srbský srpna srílanská stará středověká stříbrné
    stříbro subsaharská sukuma sundština svahilština svět syrská systém súdánský tagiš taita talyština tamazight
    tamašek tamilština tereno tibetština tigrejština tolar tonžská tonžština tornedalská tradiční tsakonština
    tsonga tugrik tuluština tuniský turecká turojština tutčonština tuvalština tvrdý tádžické tádžičtina
    ujgurština urdština urijština uruguayské velština venda venezuelský vepština vietnamština volapük vyhrazený
    více wan wayúuština won xhoština yemba zambijská zapotéčtina zarmština zaza zazakština zjednodušená zlatý
    zlotý znaková zuluština zvlášť září ásámština íránský únor úterý účely účet účetní Černá čadská čakma
    čejenština července června čečenština čipevajština čoktština čukština čuvaština čínský ňamwežština
    ňandžština Řecko řecká řečtina Španělsko Švédsko Švýcarsko šilink španělština švédština švýcarský
    žemaitština`,
  hu: `
    Afrika Albánia Algéria Amerika Amerikai Andorra Andorrai Antarktisz Arab Arany Argentína Aruba Ascension
    Ausztrália Autonómia Bahama Barthélemy Belarusz Belga Belize Bissaui Bolgár Bosznia Brazi Brazil Brazzaville
    Brazília Brit Burkina Caicos Chile Ciprusi Costa Csehország Curaçao Diego Dominika Dominikai Dzsibuti Dánia
    Ecuadori Egyiptom Eritrea Etiópia Falkland Francia Futuna Gabon Ghánai Gibraltár Grenadine Grúz Grúzia
    Guadeloupe Guatemala Guernsey Görög Heard Holland Ilona India Inversion Ismeretlen Izland Jamaica Jan Japán
    Jemeni Jugoszláv Kanada Kanári Kazahsztán Keeling Kelet Kenya Királyság Kitts Kolumbia Koszovó Kuvait
    Köztársaság Közép Lengyel Lesotho Libanon Litvánia Litvániai Lucia Luxemburg Líbia Madagaszkár Madagaszkári
    Malajzia Malawi Mali Marshall Martin Mauritánia Mayen Melanézia Melilla Moldova Monaco Montenegró Mozambik
    Málta Nauru Nevis Nicaragua Német Olasz Olaszország Osztrák Palau Paraguay Pszeudo Real Rica Románia Réunion
    Saint Salamon Salvador Salvadori San Sandwich Sark Seychelle Srí Svédország Szervezete Szudán Szváziföld
    Szíria Tanzánia Terület Thaiföld Timori Tunézia Turks Törökország Unió Valor Vanuatu Vatikán Venezuela
    Venezuelai Világ Virgin Zairei Zimbabwe Zöld achinéz afrikaans agem ajmara akoli albán aleut alsó alsónémet
    amerikai amhara angika angol anii antilláki aragonéz arany argentin aromán arubai arámi ausztrál avar aznapi
    bahamai balboa balinéz bambara barbadosi basza bedzsa beludzs bena bermudai bhutáni bikol bodo bokmål bolgár
    bolivar bolíviai braj breton bulu burmai caddo chilei comorei cordoba cruzado csakma csamoró csecsen csejen
    csilkotin csuvas csíni csütörtök dargva dari december dinár divehi dogrib dram déli délkeleti elamit embu
    etiópiai euró eve evondo ezüst falkland fanti felső feröeri flamand florin fon font forint francia gagauz
    gajo gan gbaja gourde grebó guatemalai guinea guineai gulden gvicsin haida haiti hakka halkomelem haryanvi
    hawaii herero hiri hmong holland horvát hrivnya hupa iban ibibio ikiribati inari indexadas indiai indonéz
    ingus innu inuit izlandi jamaicai január japi jaó jemeni jen joruba jugoszláv június kabardi kabuverdianu
    kalmük kalpak kambodzsai kanuri karbovanec karolinai kaszi katalán kazah kazahsztáni kecsua kedd kelet kelta
    kicse kojra kolta kom komi kongo konkani kopt koro korona kosrei kpelle kreol kuanyama kubai kuna kyat kínai
    következő középvidéki külbirtokai lahnda lamba lao lari latin lats lei lengyel leone lesothoi levantei
    limburgi litván litvániai lombard loti luba lujia luri lushootseed luxemburgi madagaszkári madurai magyar
    makaói makonde makua maldív maláj man manat mandzsu maori mapucse maráthi medumba meru metical metó mexikói
    mianmari micsif mikmak mohawk moksán moldován monetáris mongó máltai március márvári naira nama namíbiai
    napi navahó ndebele ndonga newari ngumba nias november novo nyamvézi nyankole nyelv nynorsk nyugat nyugati
    nápolyi obolo ojibva olasz ománi oromo orosz oszét palaui pali pampangan papiamento pastu pidzsin pisin pona
    pénznemkód quetzal rand rarotongai rhodéziai ringgit rombo román ruandai rubel rufiyaa rwo rétoromán sambala
    samia schilling seychelle shilling skót sogdien somoni syli szamaritánus szamburu szandave szangó szantáli
    szenni szeptember szicíliai szidamó sziget szlevi szláv szoga szuahéli szukuma szuszu szíriai szölkup
    tadzsik tagish tahltan taita tala tamil tatár telugu tenge thai tiv toki tolar tongai tongó tugrik tutchone
    twi tyap térség többszörös türkmén tőke udmurt ugandai ujgur ukrán unidades valamo vasárnap vatu volapük
    volof votják walesi walser warlpiri won xhosza zambiai zapoték zaza zloty zulu zélandi Államok Ázsia
    Írország Óceánia Üzbegisztán április ázsiai északi észt óceáni ófrancia óskandináv üzbegisztáni`,
  ro: `
    Afganistan Africa Algeria America Americii Andorra Antarctica Antigua Armenia Aruba Ascension Asia Austria
    Bahamas Bahrain Bangladesh Bermuda Bidi Birmania Bosnia Britanic Britanice Bulgaria Burundi Cambodgia Canada
    Cehia Central Cetă Ceuta Chile Ciad Clipperton Costa Cuba Curaçao Danemarca Diego Djibouti Dominicană Est
    Eswatini Faso Feroe Filipine Fran Franceze Gabon Gambia Garcia Georgia Gibraltar Grecia Grenada Groenlanda
    Guadelupa Guatemala Guineea Heard Hong India Indian Indonezia Insula Irlanda Islanda Italia Japonia Keeling
    Kenya Kitts Kârgâzstan Lanka Laos Leone Leste Liberia Lucia Lume Luxemburg Macedonia Malawi Malaysia Maldive
    Mali Malta Man Marino Marshall Mauritius Melanezia Meridională Mozambic Myanmar Nepal Nord Noua Occidentală
    Oceania Oceanul Olandeze Papua Periferică Prerii Principe Príncipe Qatar Regatul Rica Rico Rusia Réunion San
    Sao Seychelles Sfânta Siria Slovacia Somalia Sri Strâmtori Subsahariană Sud Suriname Tadjikistan Taiwan
    Teritoriile Teritoriul Tobago Tokelau Tome Tomé Tonga Trinidad Tunisia Turcia Turkmenistan Ucraina Uganda
    Unit Unite Uzbekistan Vanuatu Venezuela Verde Vincent Virgine Wallis Zambia Zimbabwe Zona accente aceea aceh
    acoli afar afgani afrihili aimun ainu akoose ale algonquiană american andorrană anii antilez arabă argint
    ariary armenesc aromână asturiană atsam aur aymara azer azeră bafia bafut balboa balineză bamun bască beja
    belarusă belgian bengaleză bikol bini birmană bislama bolívar bugineză bulgară buriat burundez caboverdian
    calmucă canadian cantoneză caraib carib cedi cehă centrală chagatai chakma cherokee cheyenne chiga chinook
    chuukese ciadiană ciuva cod colón comoreză compusă congoleză convertibilă coreeană cornică cree creek
    crimeeană croată cruzeiro daneză dari din dinar dirham dong dzongkha efik embu erzya etiopian euro europeană
    ewe ewondo fang fanti fară februarie feniciană filipineză financiar finlandeză flamandă florin fon franc
    franceză friulană frizonă fulah gaelică galiciană gan ganda gbaya ghanez gilbertină gondi gorontalo greacă
    guatemalez gujarati gulden haryanvi herero hindi ian idi ido iloko indiană interlingua interlingue inupiak
    iranian islandeză israeliană italiană iudeo iugoslav iulie japoneză jju jos kabardian kabuverdianu kabyle
    kachin kalaallisut kanembu karakalpak kawi kazahă khotaneză kimbundu kinyarwanda kiră koyra koyraboro kpelle
    kuanyama kurdă kurukh kuvi kuweitian kârgâză kölsch lari lek letonian letonă lezghian libaneză litu lozi
    luba luiseno luni lushootseed luyia maba madureză makasar makonde malaeză malawiană malga malteză manat
    manciuriană mandar manipuri mar mari marshalleză martie marwari mazanderani meridională meru mexican michif
    micmac miercuri min minangkabau modernă monetar mongol mongolă morisyen multe mundang mvdol myene najdi
    nakfa nama namibian nan napolitană nauru ndonga neerlandez newari ngambay ngiemboon ngultrum nicaraguană
    nigerian nord norvegiană nou nyankole nynorsk nyoro nzima occidentală occitană octombrie odia offshore oji
    omanez osage osetă otomană ouguiya pahlavi pakistaneză palauană pali pataca peruvian pesetă platină polonez
    portugheză punjabi qatarian quetzal rand rhodesian rial rombo românesc rupie saho sakha salish samariteană
    samburu sandawe sardiniană sco scots selkup sena seneca sesotho seychelleză shambala shona simplificată
    sindhi singaporez skolt slave slavonă slovacă soberano sogdien somaleză sorabă speciale sranan srilankeză
    sterlină sudaneză sus susu sâmbătă sârbo tamashek tamilă tasawaq telugu teso tibetană tigre tigrină tini tok
    tokelau toki tongană tragere tsimshian tsonga tumbuka turcească turcă tyap ubiană ugaritică urdu următoare
    uruguayan uzbecă venetă venezuelean vietnameză vineri wala wolof xhosa xiang yangben yapeză yen yoruba
    zambian zapotecă zaza zenaga ziua zulu zuni Îndepărtate înaltă ările`,
  tr: `
    Adası Afganisi Afganistan Akad Akan Algonkin Almanca Almanya Amerika Amerikan Amharca Angika Anguilla Aniice
    Antigua Antik Antilleri Arabistan Arapaho Arawak Arjantin Arnavutluk Aruba Assamca Asu Asya Atikamekçe Atlas
    Australi Avar Avrosu Avrupa Avusturya Aynuca Açece Aşağı Bafia Bahama Bahamalar Bahreyn Balkarca Bambara
    Bamun Bangladeş Bankası Barbados Barbuda Basa Baskça Belize Belçika Bena Bilinmeyen Birden Birleşik Birliği
    Bolivya Bolivyanosu Bosna Botsvana Bretonca Brezilya Brohice Bugis Bulgaristan Bulu Bölge Bölgeleri Cabo
    Cajun Carolina Ceuta Chiini Christmas Chuukese Cibuti Clipperton Cook Cumartesi Cunha Côte Danca Danimarka
    Dazaga Diego Dil Dili Divehi Dobrası Dogri Dominik Dominika Doğu Dünya Ekim Ekstremadura Elam Embu Eritre
    Esküdosu Estonca Etiyopya Ewondo Fang Fanti Farsçası Felemenkçe Fenike Fiji Filipinler Fin Finansal Fince
    Fincesi Flamanca Fomento Fon Frangı Fransa Fransız Frizce Frizcesi Gaelcesi Galiçyaca Gbaya Geleneksel
    Ghomala Ginesi Gondi Gorontalo Grebo Grenada Guadeloupe Guarani Guldeni Gusii Guyanası Guçince Güney Haiti
    Hakka Hakkı Halk Hard Haryanvi Hausa Hawaii Haydaca Hersek Hindilizce Hintçesi Hititçe Hmong Hollandası
    Honduras Hotanca Hupaca Hırvat Iloko Interlingue Inversion Irak Jamaika Japonya Kabardeyce Kabiliyece
    Kabuverdianu Kadazan Kaledonya Kalenjin Kamboçya Kantonca Kashubian Kasım Katalanca Katar Keeling Kenya
    Keçuva Kikuyu Kilise Kinaray Kinyarwanda Kinşasa Kiribati Kitts Klingonca Kolonu Komorca Komorlar Konvertibl
    Kordobası Korece Korsikaca Kosraean Kosta Koyraboro Krallık Kreyolu Krio Kronu Krunu Kruzadosu Kuanyama
    Kutenai Kuzey Kvanzası Kwak Kwasio Küba Kürtçesi Küçük Kırgızistan Ladino Lahnda Lanka Latin Latı Lazca
    Leste Letonca Letonya Levası Liberya Limburgca Lingala Lingua Lirası Litası Livonca Lojban Lozi Luba Lunda
    Luo Luri Luyia Lübnan Lüksemburgca Maba Macar Macaristan Madagaskar Madura Makao Makedonca Maldiv Malisetçe
    Maltaca Manipuri Mançurya Mari Mariana Markkası Markı Masai Mayotte Mayıs Mazenderanca Meksika Melilla
    Merkez Merkezi Metikali Milletler Min Minangkabau Miquelon Mokşa Moldova Moldovaca Moose Moritanya Mossi
    Mozambik Moğolca Mvdolu Myanmar Naga Nama Nauru Ndebele Ndonga Nepalce Nevari Ngambay Ngiemboon Ngomba Nias
    Norveççe Nova Novial Nyamvezi Nynorsk Nyoro Ojibwe Okanagan Okyanusu Okyanusya Oriya Orta Osage Osetçe Ova
    Paladyum Pali Panama Papiamento Papua Para Pazartesi Pencapça Perşembe Pezetası Picard Pitcairn Piyemontece
    Plautdietsch Pohnpeian Polinezya Polinezyası Polonya Pona Porto Psödo Quichua Rapanui Rarotongan Reajustado
    Riko Rohingya Romanya Rotuman Rupisi Rusince Rusça Saho Sahra Sahurca Salı Samarit Samburu Samia Sandwich
    Sango Sangu Santali Sarduca Sardunya Saterland Sebuano Senegal Seselwa Shan Sindhi Sint Sisvati Slovak
    Slovakça Solomon Somalice Soninke Sorbça Sudan Sukresi Sukuma Surinam Suudi Svahili Svalbard Svaziland
    Sylisi Süryanice Tagalogca Tahiti Talonu Tamilce Tasawaq Tatarca Tatarcası Tayca Taşelit Tereno Tiv
    Tlingitçe Tobago Togo Tok Tokelau Toki Toları Tonga Toprakları Tornedalin Tumbuka Tuvaca Tuvalyanca Tvi Tyap
    Türk Türkiye Türkmenistan Ugarit Urduca Uzak Vai Valamo Valonca Verde Vincent Volapük Wallis Walser Wonu
    Xiang Yao Yapça Yidiş Yunan Yunanca Yunanistan Yupikçe Yutland Zapotek Zelanda Zhuangca Zimbabve Zlotisi
    Zosa ariarisi bahtı birri bolivarı bolivyanosu esküdosu florini forinti frangı guaranisi gurdu içeriği kipi
    kordobası korunası kunası kvaçası kyatı larisi lehçesi leki leonesi leyi lilangenisi nakfası nın patakası
    pesosu ringgiti riyali rublesi rufiyaası somonisi somu sterlini talası tugriki yeni yok yuanı zlotisi Åland
    Çad Çarşamba Çağatayca Çek Çekme Çerokice Çeçence Çibça Çin Çipevya Çirmişçesi Özbekistan Özbekçe Özel Ürdün
    İbibio İbo İrlanda İrlandaca İskoç İspanya İspanyol İtalyan İşaret Şambala Şayence Şekeli Şilini şekeli`,
};
