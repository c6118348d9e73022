from .patrol import Attacker as Attacker
from .patrol import Closure as Closure
from .patrol import Patrol as Patrol
from .patrol import PatrolGame as PatrolGame
from .patrol import Sensor as Sensor
from .patrol import Unit as Unit
from .road_map import RoadMap as RoadMap
